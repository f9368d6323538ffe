// Decisions child-Q23, child-Q27, ctl-Q15, ctl-Q22, life-Q52.
#include "controller/reconcile/triggers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/api/dgdr.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/failed_create.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/model.h"
#include "common/lifecycle/model_endpoints.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;
using k8s::ObjectKey;
using kube::Change;

constexpr std::string_view kGraph = api::kDynamoGraphDeployment;
constexpr std::string_view kComponent = api::kDynamoComponentDeployment;
constexpr std::string_view kAdapter = api::kDynamoGraphDeploymentScalingAdapter;

ObjectKey ourKey(std::string_view kind, std::string_view namespaceName, std::string_view name) {
  return keyIn(resourceOf(api::kGroup, kind), namespaceName, name);
}

/// Whether the controller reconciles this kind of this operator.
bool isReconciled(std::string_view kind) {
  const WatchedKind* found = findWatchedKind({std::string{api::kGroup}, "", std::string{kind}, "", ""});
  return found != nullptr && found->reconciler.has_value();
}

class Triggers {
 public:
  Triggers(const Change& change, const kube::Cache& cache)
      : change_(change), cache_(cache), object_(change.now != nullptr ? *change.now : *change.before) {}

  std::vector<ObjectKey> all() {
    const WatchedKind* kind = findWatchedKind(change_.key);
    if (kind == nullptr) return {};
    if (kind->reconciler) add(change_.key.kind, change_.key.name);
    switch (kind->trigger) {
      case Trigger::Graph:
        if (!onlyStatusChanged()) addAdapters(change_.key.name);
        addRequests();
        break;
      case Trigger::Pod:
        addPodOwners();
        if (mayHaveLostAdapter()) addModels(change_.now);
        break;
      case Trigger::Claim:
        addClaimUsers();
        break;
      case Trigger::FailedCreate:
        addOwnersOfSets();
        break;
      case Trigger::Model:
        addModels(change_.before);
        addModels(change_.now);
        break;
      case Trigger::Account:
        addPresentAndFormerOwners();
        if (change_.kind != Change::Kind::Added && lifecycle::ownersOf(object_).empty()) addAllGraphs();
        break;
      case Trigger::Grove:
        addPresentAndFormerOwners();
        // PodCliques and scaling groups belong to a PodCliqueSet, whose name is that of the graph.
        add(kGraph, lifecycle::labelOf(object_, api::label::kGraph));
        break;
      case Trigger::Owners:
        addPresentAndFormerOwners();
        break;
    }
    return std::move(keys_);
  }

 private:
  /// Returns true if only the status has changed. A write of the status also changes resourceVersion and
  /// managedFields.
  bool onlyStatusChanged() const {
    if (change_.kind != Change::Kind::Changed) return false;
    const Value* before = lifecycle::metadataOf(*change_.before);
    const Value* now = lifecycle::metadataOf(*change_.now);
    return lifecycle::generationOf(*change_.before) == lifecycle::generationOf(*change_.now) &&
           same(before, now, "annotations") && same(before, now, "labels");
  }

  static bool same(const Value* a, const Value* b, std::string_view member) {
    const Value* left = json::find(a, member);
    const Value* right = json::find(b, member);
    if (left == nullptr || right == nullptr) return left == right;
    return json::equal(*left, *right);
  }

  void add(std::string_view kind, std::string_view name) {
    if (!name.empty() && change_.writer != kind) addOther(kind, name);
  }

  /// Adds an object that is not the one whose reconcile has made the change.
  void addOther(std::string_view kind, std::string_view name) {
    addKey(ourKey(kind, change_.key.namespaceName, name));
  }

  void addKey(ObjectKey key) {
    if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) keys_.push_back(std::move(key));
  }

  /// Returns the objects of one of our kinds in the namespace of the change.
  std::vector<ObjectKey> keysOf(std::string_view kind) const {
    const kube::Resource& resource = resourceOf(api::kGroup, kind);
    return cache_.keysInNamespace(kube::apiVersionOf(resource), resource.kind, change_.key.namespaceName);
  }

  /// Returns the objects of one of our kinds that have the label of the graph. The label selects all pods of
  /// a large graph, too, so the objects are not read.
  std::vector<ObjectKey> keysLabelled(std::string_view kind, std::string_view graph) const {
    std::vector<ObjectKey> found = cache_.keysLabelled(change_.key.namespaceName, api::label::kGraph, graph);
    std::erase_if(found, [&](const ObjectKey& key) { return key.kind != kind; });
    return found;
  }

  /// A user may have removed the owner reference. The owner adopts the object again or reports the conflict.
  void addPresentAndFormerOwners() {
    addOwners(change_.now);
    addOwners(change_.before);
  }

  void addOwners(const Value* object) {
    if (object == nullptr) return;
    for (const Value& owner : lifecycle::ownersOf(*object)) {
      const std::string_view kind = json::findText(&owner, "kind");
      const std::string_view name = json::findText(&owner, "name");
      if (isReconciled(kind)) add(kind, name);
      if (kind == "PodCliqueSet") addOwnerOfSet(name);
    }
  }

  /// The name of a PodCliqueSet has "-" for each "." of the graph's name.
  void addOwnerOfSet(std::string_view name) {
    const auto set =
        cache_.find(keyIn(resourceOf("grove.io", "PodCliqueSet"), change_.key.namespaceName, name));
    if (!set) {
      add(kGraph, name);
      return;
    }
    for (const Value& owner : lifecycle::ownersOf(set->object)) {
      if (json::findText(&owner, "kind") == kGraph) add(kGraph, json::findText(&owner, "name"));
    }
  }

  /// An adapter that a user has made may lack the label of its graph.
  void addAdapters(std::string_view graph) {
    for (const ObjectKey& key : keysLabelled(kAdapter, graph)) add(kAdapter, key.name);
    for (const ObjectKey& key : keysOf(kAdapter)) {
      const std::optional<kube::Cached> adapter = cache_.find(key);
      if (!adapter || !lifecycle::labelOf(adapter->object, api::label::kGraph).empty()) continue;
      const Value* reference = json::findObject(lifecycle::specOf(adapter->object), "dgdRef");
      if (json::findText(reference, "name") == graph) add(kAdapter, key.name);
    }
  }

  /// A user may have removed the labels of a generated graph. The requests of the namespace are then read,
  /// but only if something has changed that they tell.
  void addRequests() {
    bool labelled = false;
    for (const Value* object : {change_.now, change_.before}) {
      if (object == nullptr) continue;
      // The graph may be in another namespace than its request (decision conv-Q2).
      const std::string_view space = lifecycle::labelOf(*object, api::dgdr::kTrackingLabels[1]);
      const std::string_view name = lifecycle::labelOf(*object, api::dgdr::kTrackingLabels[0]);
      if (space.empty() || name.empty()) continue;
      ObjectKey request = ourKey(api::kDynamoGraphDeploymentRequest, space, name);
      labelled = labelled || (object == change_.now && isOfRequest(request));
      if (change_.writer != request.kind) addKey(std::move(request));
    }
    if (labelled || !hasOtherStatus()) return;
    for (const ObjectKey& key : keysOf(api::kDynamoGraphDeploymentRequest)) {
      const std::optional<kube::Cached> request = cache_.find(key);
      if (request && json::findText(lifecycle::statusOf(request->object), "dgdName") == change_.key.name)
        add(api::kDynamoGraphDeploymentRequest, key.name);
    }
  }

  /// Whether the request has the graph that has changed, or none yet.
  bool isOfRequest(const ObjectKey& key) const {
    const auto request = cache_.find(key);
    if (!request) return false;
    const std::string_view graph = json::findText(lifecycle::statusOf(request->object), "dgdName");
    return graph.empty() || graph == change_.key.name;
  }

  bool hasOtherStatus() const {
    return change_.kind != Change::Kind::Changed || !same(change_.before, change_.now, "status");
  }

  /// Adds the models whose base model the label names.
  void addModels(const Value* object) {
    const std::string_view hash =
        object == nullptr ? std::string_view{} : lifecycle::labelOf(*object, api::label::kBaseModelHash);
    if (hash.empty()) return;
    for (const ObjectKey& key : keysOf(api::kDynamoModel)) {
      const std::optional<kube::Cached> model = cache_.find(key);
      if (model && lifecycle::baseModelHash(model->object) == hash) addOther(api::kDynamoModel, key.name);
    }
  }

  /// EndpointSlices do not tell that a container restarts as fast as its readiness is observed.
  bool mayHaveLostAdapter() const {
    return change_.kind == Change::Kind::Changed &&
           (lifecycle::restartsOf(*change_.before) != lifecycle::restartsOf(*change_.now) ||
            lifecycle::isStopped(*change_.before) != lifecycle::isStopped(*change_.now));
  }

  /// Accounts of planners and endpoint pickers, and their bindings, belong to all graphs of the namespace.
  void addAllGraphs() {
    for (const ObjectKey& key : keysOf(kGraph)) add(kGraph, key.name);
  }

  /// A pod triggers its DynamoComponentDeployment, whose status then triggers the graph. Pods of Grove have
  /// no DynamoComponentDeployment. A rolling update with the strategy Recreate waits for the end of pods,
  /// which the status does not contain.
  void addPodOwners() {
    if (addOwnersOfJob()) return;
    const std::string_view phase = json::findText(lifecycle::statusOf(object_), "phase");
    if (change_.kind == Change::Kind::Deleted || phase == "Succeeded" || phase == "Failed")
      add(kGraph, lifecycle::labelOf(object_, api::label::kGraph));
    // A label of the pods of a Deployment contains the name of the DynamoComponentDeployment.
    const std::string_view selector = lifecycle::labelOf(object_, api::label::kSelector);
    if (cache_.contains(ourKey(kComponent, change_.key.namespaceName, selector))) {
      add(kComponent, selector);
      return;
    }
    const std::string_view graph = lifecycle::labelOf(object_, api::label::kGraph);
    bool found = false;
    for (const ObjectKey& key : podCandidates(graph)) {
      const std::optional<kube::Cached> component = cache_.find(key);
      if (!component || !lifecycle::isPodOf(object_, component->object)) continue;
      add(kComponent, key.name);
      found = true;
    }
    if (!found) add(kGraph, graph);
  }

  /// What a Job says about its pods are counts; why they do not run is only in the pods.
  /// Returns whether the pod is one of a Job.
  bool addOwnersOfJob() {
    const std::string_view name = lifecycle::labelOf(object_, "batch.kubernetes.io/job-name");
    if (name.empty()) return false;
    const auto job = cache_.find(keyIn(resourceOf("batch", "Job"), change_.key.namespaceName, name));
    if (!job || !lifecycle::isPodOfJob(object_, job->object)) return false;
    addOwners(&job->object);
    return true;
  }

  /// Returns the DynamoComponentDeployments that may own the pod. One without a graph does not have the graph
  /// label, and the graph label of its pods contains its own name.
  std::vector<ObjectKey> podCandidates(std::string_view graph) const {
    std::vector<ObjectKey> found;
    if (!graph.empty()) found = keysLabelled(kComponent, graph);
    const std::string_view name = graph.empty() ? lifecycle::labelOf(object_, api::label::kComponent) : graph;
    found.push_back(ourKey(kComponent, change_.key.namespaceName, name));
    return found;
  }

  /// An Event about a pod that cannot be created.
  void addOwnersOfSets() {
    for (const std::string_view name : lifecycle::leaderWorkerSetsOf(object_)) {
      const auto set = cache_.find(
          keyIn(resourceOf("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), change_.key.namespaceName, name));
      if (set) addOwners(&set->object);
    }
  }

  /// A claim was created or deleted: graphs wait for it, or create it again. The cache has no names of the
  /// owners of claims, and other changes of a claim matter to nobody.
  void addClaimUsers() {
    if (change_.kind == Change::Kind::Changed) return;
    const bool deleted = change_.kind == Change::Kind::Deleted;
    for (const ObjectKey& key : keysOf(kGraph)) {
      const std::optional<kube::Cached> graph = cache_.find(key);
      if (!graph) continue;
      const std::vector<std::string_view> claims = lifecycle::claimsOf(graph->object);
      const bool named = std::find(claims.begin(), claims.end(), change_.key.name) != claims.end();
      // A claim that one graph creates may be one that another graph waits for.
      if (named && (deleted || !lifecycle::isControlledBy(object_, graph->object)))
        addOther(kGraph, key.name);
    }
  }

  const Change& change_;
  const kube::Cache& cache_;
  const Value& object_;
  std::vector<ObjectKey> keys_;
};

}  // namespace

std::vector<ObjectKey> triggeredBy(const Change& change, const kube::Cache& cache) {
  return Triggers{change, cache}.all();
}

}  // namespace dynamo::controller
