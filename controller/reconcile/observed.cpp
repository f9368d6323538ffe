#include "controller/reconcile/observed.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/failed_create.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/worker_hash.h"
#include "common/model/names.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;
using lifecycle::namespaceOf;

void addAll(Observed& observed, std::vector<kube::Cached> objects) {
  for (kube::Cached& object : objects) observed.put(std::move(object));
}

/// Returns all pods of the graph. For a deployment without a graph, returns all pods of components with its
/// name.
std::vector<kube::Cached> podCandidates(const kube::Cache& cache, const Value& deployment) {
  std::string_view graph = lifecycle::labelOf(deployment, api::label::kGraph);
  const Value* spec = lifecycle::specOf(deployment);
  if (graph.empty()) graph = json::findText(json::findObject(spec, "labels"), api::label::kGraph);
  if (!graph.empty()) return cache.labelled(namespaceOf(deployment), api::label::kGraph, graph);
  std::string_view service = json::findText(spec, "serviceName");
  if (service.empty()) service = lifecycle::nameOf(deployment);
  return cache.labelled(namespaceOf(deployment), api::label::kComponent, service);
}

/// Adds the graph that controls the component if it runs workers. Returns whether there is one.
bool addGraphOfWorker(const kube::Cache& cache, const Value& deployment, Observed& observed) {
  const Value* controller = lifecycle::controllerOf(deployment);
  if (json::findText(controller, "kind") != api::kDynamoGraphDeployment ||
      !lifecycle::isWorkerComponent(deployment))
    return false;
  k8s::ObjectKey key = k8s::keyOf(deployment);
  key.kind = api::kDynamoGraphDeployment;
  key.name = json::findText(controller, "name");
  std::optional<kube::Cached> graph = cache.find(key);
  if (graph) observed.put(std::move(*graph));
  return graph.has_value();
}

/// Adds the Events about pods of the component's LeaderWorkerSets.
void addEvents(const kube::Cache& cache, const Value& deployment, Observed& observed) {
  std::set<std::string, std::less<>> sets;
  for (const Value* object : observed.values()) {
    if (json::findText(object, "kind") == "LeaderWorkerSet") sets.emplace(lifecycle::nameOf(*object));
  }
  if (sets.empty()) return;
  for (const k8s::ObjectKey& key : cache.keysInNamespace("v1", "Event", namespaceOf(deployment))) {
    std::optional<kube::Cached> event = cache.find(key);
    if (!event) continue;
    const std::vector<std::string_view> names = lifecycle::leaderWorkerSetsOf(event->object);
    if (std::any_of(names.begin(), names.end(), [&](std::string_view name) { return sets.contains(name); }))
      observed.put(std::move(*event));
  }
}

}  // namespace

void Observed::put(kube::Cached object) {
  k8s::ObjectKey key = k8s::keyOf(object.object);
  objects_.push_back(std::move(object));
  index_.insert_or_assign(std::move(key), &objects_.back());
}

void Observed::putCopy(const Value& object) {
  kube::Cached copy{.object = {}, .ownedFields = {}};
  copy.object.CopyFrom(object, copy.object.GetAllocator());
  put(std::move(copy));
}

const kube::Cached* Observed::find(const k8s::ObjectKey& key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : found->second;
}

std::vector<const Value*> Observed::values() const {
  std::vector<const Value*> values;
  values.reserve(index_.size());
  for (const auto& [key, object] : index_) values.push_back(&object->object);
  return values;
}

Observed observeGraph(const kube::Cache& cache, const Value& graph) {
  Observed observed;
  std::vector<std::string> setUids;
  for (kube::Cached& child : cache.ownedBy(namespaceOf(graph), lifecycle::uidOf(graph))) {
    if (json::findText(&child.object, "kind") == "PodCliqueSet")
      setUids.emplace_back(lifecycle::uidOf(child.object));
    observed.put(std::move(child));
  }
  // One that lost its owner is adopted, with the values that Grove does not let change.
  if (setUids.empty()) {
    const k8s::ObjectKey key = keyIn(resourceOf("grove.io", "PodCliqueSet"), namespaceOf(graph),
                                     model::dashed(lifecycle::nameOf(graph)));
    if (auto found = cache.find(key); found && lifecycle::controllerOf(found->object) == nullptr)
      observed.put(std::move(*found));
  }
  // Grove creates PodCliques and scaling groups for the set.
  for (const std::string& uid : setUids) addAll(observed, cache.ownedBy(namespaceOf(graph), uid));
  addAll(observed, cache.labelled(namespaceOf(graph), api::label::kGraph, lifecycle::nameOf(graph)));
  for (const std::string_view claim : lifecycle::claimsOf(graph)) {
    const k8s::ObjectKey key{"", "v1", "PersistentVolumeClaim", std::string{namespaceOf(graph)},
                             std::string{claim}};
    if (auto found = cache.find(key)) observed.put(std::move(*found));
  }
  return observed;
}

Observed observeComponent(const kube::Cache& cache, const Value& deployment) {
  Observed observed;
  addAll(observed, cache.ownedBy(namespaceOf(deployment), lifecycle::uidOf(deployment)));
  const bool worker = addGraphOfWorker(cache, deployment, observed);
  for (kube::Cached& object : podCandidates(cache, deployment)) {
    const std::string_view kind = json::findText(&object.object, "kind");
    if (kind == "Pod" ? lifecycle::isPodOf(object.object, deployment)
                      : worker && kind == api::kDynamoComponentDeployment)
      observed.put(std::move(object));
  }
  addEvents(cache, deployment, observed);
  return observed;
}

Observed observeCheckpoint(const kube::Cache& cache, const Value& checkpoint) {
  Observed observed;
  for (kube::Cached& job : cache.ownedBy(namespaceOf(checkpoint), lifecycle::uidOf(checkpoint))) {
    addAll(observed, cache.ownedBy(namespaceOf(checkpoint), lifecycle::uidOf(job.object)));
    observed.put(std::move(job));
  }
  return observed;
}

void observeJob(const kube::Cache& cache, const Value& job, Observed& observed) {
  addAll(observed, cache.ownedBy(namespaceOf(job), lifecycle::uidOf(job)));
  observed.putCopy(job);
}

}  // namespace dynamo::controller
