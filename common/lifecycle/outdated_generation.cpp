#include "common/lifecycle/outdated_generation.h"

#include <algorithm>
#include <set>
#include <vector>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pathway.h"
#include "common/lifecycle/worker_hash.h"

namespace dynamo::lifecycle {

using json::Value;

bool isOutdatedGeneration(const Value& deployment, std::span<const Value* const> observed,
                          const render::Context& context) {
  if (!isWorkerComponent(deployment)) return false;
  const auto graph = std::find_if(observed.begin(), observed.end(), [&](const Value* object) {
    return json::findText(object, "kind") == api::kDynamoGraphDeployment &&
           isControlledBy(deployment, *object) && !isBeingDeleted(*object);
  });
  if (graph == observed.end()) return false;
  std::vector<const Value*> components;
  std::copy_if(observed.begin(), observed.end(), std::back_inserter(components), [](const Value* object) {
    return json::findText(object, "kind") == api::kDynamoComponentDeployment;
  });
  // A change to Grove deletes all components.
  if (selectsGrove(**graph, context, components, nullptr)) return false;
  render::Context decided{context};
  decided.grove = false;
  json::Document memory;
  return desiredWorkers(**graph, decided, components, generationHash(deployment), memory.GetAllocator())
             .hash != generationHash(deployment);
}

void keepChildren(const Value& deployment, std::span<const Value* const> observed,
                  render::Children& children) {
  std::set<k8s::ObjectKey> live;
  for (const Value* object : observed) {
    if (isControlledBy(*object, deployment)) live.insert(k8s::keyOf(*object));
  }
  for (render::Child& child : children.items) {
    if (live.contains(child.key)) child.policy = render::Policy::CreatedOnce;
  }
}

std::optional<Write> scaleOutdated(const Value& deployment, const Value* workload,
                                   json::Allocator& allocator) {
  if (workload == nullptr || isBeingDeleted(*workload)) return std::nullopt;
  const std::int64_t replicas = countAt(specOf(deployment), "replicas", 1);
  if (countAt(specOf(*workload), "replicas", 1) == replicas) return std::nullopt;
  if (replicas > 0 && isObserved(deployment)) return std::nullopt;
  const json::Maker make{allocator};
  return patchOf(*workload, make.object("spec", make.object("replicas", replicas)));
}

}  // namespace dynamo::lifecycle
