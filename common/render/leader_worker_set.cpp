// The LeaderWorkerSets of a component over several nodes, one a replica, where Grove is not used.
// Quirks dec-4, dec-6, child-Q8, child-Q17, child-Q17b, pod-Q39.
#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/model/graph.h"
#include "common/model/names.h"
#include "common/render/metadata.h"
#include "common/render/object.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// Each replica is an object of its own; nobody runs more.
constexpr long long kMaxReplicas = 1000;

/// LeaderWorkerSet pods must say what they run: roles are told apart by the command.
bool hasCommand(const Component& component, const Pod& pod, Errors& errors) {
  for (const std::string_view field : {"command", "args"}) {
    const Value* list = json::find(pod.mainContainer(), field);
    if (list != nullptr && list->IsArray() && !list->Empty()) continue;
    errors.push_back({field::ErrorType::Required, component.path / "extraPodSpec.mainContainer" / field, "",
                      "a multinode component needs it in a LeaderWorkerSet", "render.lws-command"});
    return false;
  }
  return true;
}

struct Templates {
  Pod leader;
  Pod worker;
};

Value podTemplate(const Value& owner, const Component& component, const Pod& pod, std::string_view role,
                  std::string_view set, long long index, Allocator& allocator) {
  const json::Maker make{allocator};
  // A graph's service keeps those of extraPodMetadata, as with Grove (quirk pod-Q20).
  const bool standalone = model::graphOwner(owner) == nullptr;
  Value labels =
      podLabels(component, {}, allocator, standalone ? UserLabels::OfComponent : UserLabels::OfPods);
  make.set(labels, api::label::kInstanceId, fmt::format("{}", index));
  make.set(labels, api::label::kRole, role);
  Value annotations = podAnnotations(component, pod, nullptr, allocator);
  make.set(annotations, api::annotation::kGroupName, set);
  Value spec = make.value(pod.spec);
  make.set(spec, "schedulerName", "volcano");
  return make.object("metadata",
                     make.object("labels", std::move(labels), "annotations", std::move(annotations)), "spec",
                     std::move(spec));
}

void renderOne(const Value& owner, const Component& component, const Templates& pods, long long index,
               Children& children) {
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const std::string name = fmt::format("{}-{}", model::dashed(nameOf(owner)), index);
  Value group =
      makeObject("scheduling.volcano.sh/v1beta1", "PodGroup", name, component.namespaceName, allocator);
  setMetadata(group, "labels", make.object(api::label::kInstanceId, fmt::format("{}", index)), allocator);
  setOwner(group, owner, allocator);
  make.set(group, "spec", make.object("minMember", component.nodes));
  children.add(std::move(group), component.key);

  Value set =
      makeObject("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name, component.namespaceName, allocator);
  Value labels = componentLabels(component, allocator);
  make.set(labels, api::label::kInstanceId, fmt::format("{}", index));
  setMetadata(set, "labels", std::move(labels), allocator);
  setOwner(set, owner, allocator);
  make.set(
      set, "spec",
      make.object("replicas", 1, "startupPolicy", "LeaderCreated", "leaderWorkerTemplate",
                  make.object("size", component.nodes, "leaderTemplate",
                              podTemplate(owner, component, pods.leader, "leader", name, index, allocator),
                              "workerTemplate",
                              podTemplate(owner, component, pods.worker, "worker", name, index, allocator))));
  children.add(std::move(set), component.key);
}

}  // namespace

void renderLeaderWorkerSets(const Value& owner, const Component& component, const Context& context,
                            Children& children) {
  Allocator& allocator = children.memory();
  const Value* given = json::find(component.spec, "replicas");
  long long replicas = given != nullptr && given->IsInt64() ? given->GetInt64() : 1;
  // Whoever scales up cannot mend what is wrong with the pods.
  if (context.trial()) replicas = std::max(replicas, 1LL);
  if (replicas <= 0) return;
  if (replicas > kMaxReplicas) {
    children.errors.push_back(
        {field::ErrorType::Invalid, component.at("replicas").path(), fmt::format("{}", replicas),
         fmt::format("must be at most {}: each replica is a LeaderWorkerSet", kMaxReplicas),
         "render.lws-replicas"});
    return;
  }
  Templates pods{renderPod(component, Role::Leader, context, children.errors, allocator), {}};
  if (!pods.leader.good) return;
  pods.worker = renderPod(component, Role::Worker, context, children.errors, allocator);
  if (!pods.worker.good) return;
  if (!hasCommand(component, pods.leader, children.errors)) return;
  if (!hasCommand(component, pods.worker, children.errors)) return;
  ensureServiceAccount(component, context.facts, pods.leader.spec, allocator);
  ensureServiceAccount(component, context.facts, pods.worker.spec, allocator);
  // The last one has the longest name.
  for (long long i = context.trial() ? replicas - 1 : 0; i < replicas; ++i)
    renderOne(owner, component, pods, i, children);
}

}  // namespace dynamo::render
