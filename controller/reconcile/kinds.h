#pragma once
// The kinds that the controller reads and writes: the objects that it watches and the fields that it caches.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/k8s/object_store.h"
#include "controller/kube/label_selector.h"
#include "controller/kube/resource.h"

namespace dynamo::controller {

/// The field manager of everything that the controller applies.
inline constexpr std::string_view kFieldManager = "dynamo-controller";
/// The field manager of status updates.
inline constexpr std::string_view kStatusManager = "dynamo-controller-status";

struct WatchedKind {
  kube::Resource resource;
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

/// Returns true if a watch of the kind reports an object with the labels of `object`.
bool isWatched(const WatchedKind& kind, const json::Value& object);

}  // namespace dynamo::controller
