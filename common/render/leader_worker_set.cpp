// Renders the LeaderWorkerSets of a multinode component without Grove, one per replica.
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

/// Pods of a LeaderWorkerSet need command and args, because the roles differ in the command.
bool hasCommand(const Component& component, const Pod& pod, Errors& errors) {
  for (const std::string_view field : {"command", "args"}) {
    const Value* list = json::find(pod.mainContainer(), field);
    if (list != nullptr && list->IsArray() && !list->Empty()) continue;
    errors.push_back({field::ErrorType::Required, component.path / "extraPodSpec.mainContainer" / field, "",
                      "must be set for a multinode component in a LeaderWorkerSet", "render.lws-command"});
    return false;
  }
  return true;
}

struct Templates {
  Pod leader;
  Pod worker;
};

/// `origins`: those of the pod, which become those of its template.
Value podTemplate(const Value& owner, const Component& component, const Pod& pod, std::string_view role,
                  std::string_view set, long long index, Origins* origins, Allocator& allocator) {
  const json::Maker make{allocator};
  // For a service of a graph, labels of extraPodMetadata take precedence, as with Grove (quirk pod-Q20).
  const bool standalone = model::graphOwner(owner) == nullptr;
  Value labels =
      podLabels(component, {}, origins, allocator, standalone ? UserLabels::OfComponent : UserLabels::OfPods);
  make.set(labels, api::label::kInstanceId, fmt::format("{}", index));
  make.set(labels, api::label::kRole, role);
  Value annotations = podAnnotations(component, pod, BaseAnnotations::None, origins, allocator);
  make.set(annotations, api::annotation::kGroupName, set);
  Value spec = make.value(pod.spec);
  make.set(spec, "schedulerName", "volcano");
  if (origins != nullptr) {
    for (const std::string_view key : {api::label::kInstanceId, api::label::kRole})
      origins->byOperator(field::Path{"metadata.labels"}.key(key));
    origins->byOperator(field::Path{"metadata.annotations"}.key(api::annotation::kGroupName));
    origins->byOperator(field::Path{"spec.schedulerName"});
  }
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
  std::vector<Origins> origins;
  if (pods.leader.origins && pods.worker.origins) origins = {*pods.leader.origins, *pods.worker.origins};
  const auto templateOf = [&](const Pod& pod, std::string_view role, std::size_t position) {
    Origins* recorder = origins.empty() ? nullptr : &origins[position];
    return podTemplate(owner, component, pod, role, name, index, recorder, allocator);
  };
  make.set(
      set, "spec",
      make.object("replicas", 1, "startupPolicy", "LeaderCreated", "leaderWorkerTemplate",
                  make.object("size", component.nodes, "leaderTemplate", templateOf(pods.leader, "leader", 0),
                              "workerTemplate", templateOf(pods.worker, "worker", 1))));
  children.add(std::move(set), component.key);
  children.items.back().origins = std::move(origins);
}

}  // namespace

void renderLeaderWorkerSets(const Value& owner, const Component& component, const Context& context,
                            std::span<const long long> numbers, Children& children) {
  constexpr auto kMaxReplicas = static_cast<long long>(kMaxLeaderWorkerSets);
  Allocator& allocator = children.memory();
  const Value* given = json::find(component.spec, "replicas");
  long long replicas = given != nullptr && given->IsInt64() ? given->GetInt64() : 1;
  // The pods are validated even with 0 replicas, because scaling up later cannot fix their errors.
  if (context.trial()) replicas = std::max(replicas, 1LL);
  if (replicas <= 0) return;
  if (replicas > kMaxReplicas) {
    children.errors.push_back(
        {field::ErrorType::Invalid, component.at("replicas").path(), fmt::format("{}", replicas),
         fmt::format("must be at most {}, because each replica is a LeaderWorkerSet", kMaxReplicas),
         "render.lws-replicas"});
    return;
  }
  Templates pods{renderPod(component, Role::Leader, context, children.errors, allocator), {}};
  if (!pods.leader.good) return;
  pods.worker = renderPod(component, Role::Worker, context, children.errors, allocator);
  if (!pods.worker.good) return;
  if (!hasCommand(component, pods.leader, children.errors)) return;
  if (!hasCommand(component, pods.worker, children.errors)) return;
  ensureServiceAccount(component, context.facts, pods.leader, allocator);
  ensureServiceAccount(component, context.facts, pods.worker, allocator);
  children.minReadySeconds = minReadySeconds(component, context, componentAnnotations(component, allocator));
  if (!numbers.empty()) {
    for (const long long number : numbers) renderOne(owner, component, pods, number, children);
    return;
  }
  // The last one has the longest name.
  for (long long i = context.trial() ? replicas - 1 : 0; i < replicas; ++i)
    renderOne(owner, component, pods, i, children);
}

}  // namespace dynamo::render
