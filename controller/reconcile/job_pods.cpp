#include "controller/reconcile/job_pods.h"

#include <fmt/format.h>

#include <utility>

#include "common/json/build.h"
#include "common/k8s/object_key.h"
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

std::vector<const Value*> itemsOf(Document& list) {
  auto& allocator = list.GetAllocator();
  std::vector<const Value*> pods;
  Value* items = json::find(list, "items");
  for (rapidjson::SizeType i = 0; items != nullptr && i < items->Size(); ++i) {
    json::set((*items)[i], "apiVersion", json::string("v1", allocator), allocator);
    json::set((*items)[i], "kind", json::string("Pod", allocator), allocator);
    pods.push_back(&(*items)[i]);
  }
  return pods;
}

}  // namespace dynamo::controller
