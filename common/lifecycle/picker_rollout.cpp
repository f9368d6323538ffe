#include "common/lifecycle/picker_rollout.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/defaults/apply.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/readiness.h"
#include "common/lifecycle/worker_hash.h"
#include "common/render/deployment_config.h"
#include "common/render/picker_namespace.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

const Value* servicesOf(const Value& graph) {
  return json::findObject(specOf(graph), "services");
}

bool hasPicker(const Value& graph) {
  const Value* services = servicesOf(graph);
  return services != nullptr &&
         std::any_of(services->MemberBegin(), services->MemberEnd(), [](const auto& service) {
           return json::findText(&service.value, "componentType") == api::kEpp;
         });
}

/// The components of the pickers whose namespace the operator sets.
std::vector<const Value*> followingPickers(const GraphView& view, json::Allocator& allocator) {
  std::vector<const Value*> pickers;
  if (!hasPicker(view.graph)) return pickers;
  const Value intent = defaults::intent(view.graph, allocator);
  for (const Value* component : ownComponents(view)) {
    if (render::followsWorkers(intent, json::findText(specOf(*component), "serviceName")))
      pickers.push_back(component);
  }
  return pickers;
}

bool names(const Value& picker, std::string_view hash) {
  const std::string_view dynamoNamespace = json::findText(specOf(picker), "dynamoNamespace");
  return render::pickerNamespace(picker) == render::workerNamespace(dynamoNamespace, hash);
}

/// The ready pods of the new generation with which clients of `service` may move to it. 0 if the old pods
/// have to go first.
long long minimumOf(const Value& graph, std::string_view key, const Value& service) {
  const Value* annotations = json::findObject(&service, "annotations");
  if (json::findText(annotations, api::annotation::kDeploymentStrategy) == "Recreate") return 0;
  const long long desired = render::componentReplicas(key, service, json::find(specOf(graph), "envs"));
  if (desired <= 0) return 0;
  const RollingLimits limits = rollingLimits(service, desired);
  const long long least = std::max(desired - limits.unavailable, 0LL);
  return limits.surge > 0 ? std::max(least, 1LL) : least;
}

template <typename Each>
void forEachWorker(const Value& graph, Each each) {
  const Value* services = servicesOf(graph);
  if (services == nullptr) return;
  for (const auto& service : services->GetObject()) {
    if (!api::isWorkerType(json::findText(&service.value, "componentType"))) continue;
    const std::string_view key = json::text(service.name);
    each(key, minimumOf(graph, key, service.value));
  }
}

bool isReady(const GraphView& view, const std::vector<WorkerGeneration>& generations) {
  bool ready = true;
  forEachWorker(view.graph, [&](std::string_view key, long long minimum) {
    long long available = 0;
    for (const WorkerGeneration& each : generations) {
      if (each.service == key && each.hash == view.workerHash && each.observed)
        available += std::min(each.available, each.replicas);
    }
    ready = ready && available >= minimum;
  });
  return ready;
}

/// Keeps one old worker of each service, in the oldest step that has any.
void keepLastOldWorkers(const GraphView& view, const std::vector<WorkerGeneration>& generations,
                        RollingStep& next) {
  forEachWorker(view.graph, [&](std::string_view key, long long minimum) {
    if (minimum == 0) return;
    const WorkerGeneration* last = nullptr;
    for (const WorkerGeneration& each : generations) {
      if (each.service != key || each.hash == view.workerHash) continue;
      const auto replicas = next.oldReplicas.find(each.name);
      if (replicas == next.oldReplicas.end()) continue;
      if (replicas->second > 0) return;
      // Pods that are not available serve nobody.
      if (each.replicas > 0 && each.available > 0 && (last == nullptr || last->available < each.available))
        last = &each;
    }
    if (last != nullptr) next.oldReplicas[last->name] = 1;
  });
}

}  // namespace

std::optional<std::string> followRollingUpdate(const GraphView& view, std::string_view from,
                                               const std::vector<WorkerGeneration>& generations,
                                               RollingStep& next, json::Allocator& allocator) {
  const std::vector<const Value*> pickers = followingPickers(view, allocator);
  if (pickers.empty()) return std::nullopt;
  const auto isNew = [&](const Value* picker) { return names(*picker, view.workerHash); };
  const bool done = std::all_of(pickers.begin(), pickers.end(), [&](const Value* picker) {
    return isNew(picker) && componentDeploymentReadiness(picker).ready;
  });
  if (!done) keepLastOldWorkers(view, generations, next);
  // A picker does not go back when pods of the new generation fail later.
  if (std::any_of(pickers.begin(), pickers.end(), isNew) || isReady(view, generations)) return std::nullopt;
  for (const WorkerGeneration& each : generations) {
    if (each.hash != view.workerHash && names(*pickers.front(), each.hash)) return each.hash;
  }
  return std::string{from == kLegacyHash ? std::string_view{} : from};
}

}  // namespace dynamo::lifecycle
