#include "controller/reconcile/job_pods.h"

#include <fmt/format.h>

#include <utility>

#include "common/json/build.h"
#include "common/k8s/object_key.h"
#include "common/lifecycle/job_pods.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

using json::Document;
using json::Value;
using lifecycle::Ending;

runtime::Task<std::variant<Document, Ending>> listPodsOf(Environment& environment, const Value& job) {
  kube::ListOptions options;
  options.labelSelector = fmt::format("batch.kubernetes.io/job-name={}", lifecycle::nameOf(job));
  const std::string space{lifecycle::namespaceOf(job)};
  auto got = co_await environment.client.list(resourceOf("", "Pod"), space, options);
  if (auto* error = std::get_if<kube::ApiError>(&got)) co_return failureOf(k8s::keyOf(job), *error);
  co_return std::move(std::get<Document>(got));
}

runtime::Task<std::variant<Document, Ending>> readFailedCreates(Environment& environment, const Value& job,
                                                                std::span<const Value* const> pods) {
  const kube::Resource& events = resourceOf("", "Event");
  const auto missing = lifecycle::missingPods(job, pods, environment.now());
  if (!missing || !missing->readEvents) co_return Document{};
  const std::string space{lifecycle::namespaceOf(job)};
  kube::ListOptions options;
  options.fieldSelector = lifecycle::failedCreateSelector(job);
  auto got = co_await environment.client.list(events, space, options);
  const auto* error = std::get_if<kube::ApiError>(&got);
  if (error == nullptr) co_return std::move(std::get<Document>(got));
  if (error->reason == kube::Reason::Forbidden) co_return Document{};
  co_return failureOf(keyIn(events, space, ""), *error);
}

std::vector<const Value*> itemsOf(Document& list, std::string_view kind) {
  auto& allocator = list.GetAllocator();
  std::vector<const Value*> found;
  Value* items = list.IsObject() ? json::find(list, "items") : nullptr;
  for (rapidjson::SizeType i = 0; items != nullptr && items->IsArray() && i < items->Size(); ++i) {
    json::set((*items)[i], "apiVersion", json::string("v1", allocator), allocator);
    json::set((*items)[i], "kind", json::string(kind, allocator), allocator);
    found.push_back(&(*items)[i]);
  }
  return found;
}

}  // namespace dynamo::controller
