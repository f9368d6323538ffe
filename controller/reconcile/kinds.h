#pragma once
// The table of the resources that the controller reads and writes. A row says how a resource is called, which
// of its objects are watched, what the cache keeps of them, what their changes trigger, and, of a custom
// resource of this operator, who reconciles it and how it is counted.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/k8s/object_store.h"
#include "common/runtime/task.h"
#include "controller/kube/label_selector.h"
#include "controller/kube/resource.h"

namespace dynamo::controller {

/// The field manager of everything that the controller applies.
inline constexpr std::string_view kFieldManager = api::kFieldManager;
/// The field manager of status updates.
inline constexpr std::string_view kStatusManager = "dynamo-controller-status";

struct Environment;
struct ReconcileResult;

/// Whose reconcile a change of an object triggers (triggers.cpp).
enum class Trigger : std::uint8_t {
  Owners,        ///< of the objects that the owner references name, and of the object itself
  Graph,         ///< of the graph and its scaling adapters
  Grove,         ///< of the owners, and of the graph that the label names
  Model,         ///< of the models whose base model the label names
  Account,       ///< of the owners; of all graphs of the namespace if it has lost them
  Pod,           ///< of the component that the pod belongs to, of the graph, or of the owner of its Job
  Claim,         ///< of the graphs that use the claim
  FailedCreate,  ///< an Event about a pod: of the owners of its LeaderWorkerSet
};

/// Reconciles the objects of a resource.
struct Reconciler {
  std::string_view component = {};  ///< the source of its Events, as in the reference
  /// Reconciles the object with the key if it exists. The environment must outlive the task.
  runtime::Task<ReconcileResult> (*reconcile)(Environment&, k8s::ObjectKey) = nullptr;
};

struct WatchedKind {
  kube::Resource resource;  ///< with the version that is stored and watched, and the scope
  /// One watch for each selector. An object matches at most one of them.
  std::vector<kube::LabelSelector> selectors;
  k8s::KeptFields kept;
  std::vector<std::string> labels;  ///< labels that the cache indexes
  /// True if the controller applies objects of the kind. The cache then stores the fields that it owns.
  bool applied = true;
  std::string fieldSelector = {};  ///< of each of its watches
  /// The kind is watched only if this resource is served; nullopt: if `resource` is.
  std::optional<kube::Resource> with = {};
  bool listed = false;  ///< k8s::StoredKind::listed
  Trigger trigger = Trigger::Owners;
  /// Its kind is also the name of its queue, and Change::writer of its writes.
  std::optional<Reconciler> reconciler = {};
  /// Other versions that the API server serves. Keys, watches and requests have the stored one.
  std::vector<std::string> alsoServed = {};
  /// The status that an object is counted under in dynamo_operator_resources_total; nullptr: not counted.
  std::string_view (*countedStatus)(const json::Value& object) = nullptr;

  /// Returns true if manifests may have this version.
  bool serves(std::string_view version) const {
    return version == resource.version ||
           std::find(alsoServed.begin(), alsoServed.end(), version) != alsoServed.end();
  }
  /// Returns true if the watches report every object of the kind.
  bool complete() const {
    return selectors.size() == 1 && selectors.front().requirements.empty() && fieldSelector.empty();
  }
};

/// Returns all kinds. A kind is watched as long as the API server serves its API.
std::span<const WatchedKind> watchedKinds();

/// Returns the kind of the object, or nullptr if it is unknown.
const WatchedKind* findWatchedKind(const k8s::ObjectKey& key);

/// Returns the kinds for the object store of the cache.
std::vector<k8s::StoredKind> storedKinds();

/// Returns the resource of the group and kind, which must be in the table.
const kube::Resource& resourceOf(std::string_view group, std::string_view kind);

/// Returns the key of an object of the resource.
k8s::ObjectKey keyIn(const kube::Resource& resource, std::string_view namespaceName, std::string_view name);

/// Returns true if a watch of the kind reports an object with the labels of `object`.
bool isWatched(const WatchedKind& kind, const json::Value& object);

}  // namespace dynamo::controller
