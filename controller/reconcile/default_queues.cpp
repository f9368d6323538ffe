#include "controller/reconcile/default_queues.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <variant>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/observability/log.h"

namespace dynamo::controller {
namespace {

using kube::ApiError;
using runtime::Task;

constexpr log::Logger kLog{"queues"};
/// The interval in which a queue that cannot be created is tried again.
constexpr std::chrono::seconds kRetry{30};
/// The time in which the watch reports a queue that was created.
constexpr std::chrono::seconds kSeen{5};

}  // namespace

const kube::Resource& queues() {
  static const kube::Resource kQueues{"scheduling.run.ai", "v2", "queues", "Queue", false};
  return kQueues;
}

std::string queueDocument(std::string_view name, std::string_view parent) {
  constexpr int kUnlimited = -1;
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  json::Value resources = make.object();
  for (const std::string_view resource : {"cpu", "gpu", "memory"}) {
    make.set(resources, resource,
             make.object("quota", kUnlimited, "limit", kUnlimited, "overQuotaWeight", 1));
  }
  json::Value spec = make.object("resources", std::move(resources));
  if (!parent.empty()) make.set(spec, "parentQueue", parent);
  return json::dump(make.object(
      "apiVersion", "scheduling.run.ai/v2", "kind", "Queue", "metadata",
      make.object("name", name, "labels", make.object(api::label::kAppManagedBy, api::kOperatorName)), "spec",
      std::move(spec)));
}

Task<void> DefaultQueues::run() {
  std::string told;
  while (!stopped_ && !loop_.stopping()) {
    const bool isMissing = needed_ && facts_.api(render::Api::KaiScheduler).value_or(false) &&
                           !facts_.queue(kDefaultQueue).value_or(true);
    if (!isMissing) {
      co_await changed_.wait();
      continue;
    }
    std::string error = co_await ensure(kParentQueue, {});
    if (error.empty()) error = co_await ensure(kDefaultQueue, kParentQueue);
    if (stopped_ || loop_.stopping()) break;
    if (!error.empty() && error != told)
      kLog.warn("a queue of the KAI scheduler was not created", {{"error", error}});
    told = error;
    co_await pause(error.empty() ? kSeen : kRetry);
  }
}

void DefaultQueues::lookedUp(const render::FactKeys& keys) {
  if (needed_ || !keys.contains({render::FactKind::Queue, "", std::string{kDefaultQueue}})) return;
  needed_ = true;
  changed_.notify();
}

/// Facts that change meanwhile do not shorten it.
Task<void> DefaultQueues::pause(std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!stopped_ && !loop_.stopping() && std::chrono::steady_clock::now() < end)
    co_await changed_.wait(end);
}

void DefaultQueues::stop() {
  stopped_ = true;
  changed_.notify();
}

Task<std::string> DefaultQueues::ensure(std::string_view name, std::string_view parent) {
  if (facts_.queue(name).value_or(false)) co_return "";
  std::string body = queueDocument(name, parent);
  const kube::CallOptions call{kube::Slots::Cluster};
  auto made = co_await client_.create(queues(), "", std::move(body), false, call);
  if (const auto* error = std::get_if<ApiError>(&made)) {
    if (error->reason == kube::Reason::AlreadyExists) co_return "";
    co_return fmt::format("Queue {}: {}", name, error->message);
  }
  kLog.info("queue of the KAI scheduler created", {{"name", name}});
  co_return "";
}

}  // namespace dynamo::controller
