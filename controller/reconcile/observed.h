#pragma once
// The objects that one reconcile reads from the cache, and the replies to its writes.

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "common/json/value.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {

class Observed {
 public:
  /// Adds an object or replaces the object with the same key.
  void put(kube::Cached object);
  /// The same with a copy of an object that is not from the cache.
  void putCopy(const json::Value& object);
  void remove(const k8s::ObjectKey& key) { index_.erase(key); }
  /// Returns the object, or nullptr if it does not exist.
  const kube::Cached* find(const k8s::ObjectKey& key) const;
  std::vector<const json::Value*> values() const;

 private:
  std::deque<kube::Cached> objects_;  ///< includes replaced objects, because callers may refer to them
  std::map<k8s::ObjectKey, const kube::Cached*> index_;
};

/// Returns the objects for lifecycle::planGraphReconcile: the children of the graph, the children of its
/// PodCliqueSet, its pods, and the claims in its spec.
Observed observeGraph(const kube::Cache& cache, const json::Value& graph);

/// Returns the objects for lifecycle::finishComponentReconcile: the children of the deployment, its pods, and
/// the Events about pods of its LeaderWorkerSets. Of workers, also their graph and its components.
Observed observeComponent(const kube::Cache& cache, const json::Value& deployment);

/// Returns the objects for lifecycle::checkpointOutcome: the Job of the checkpoint and its pods.
Observed observeCheckpoint(const kube::Cache& cache, const json::Value& checkpoint);
/// Adds a copy of a Job that the cache does not have, and its pods.
void observeJob(const kube::Cache& cache, const json::Value& job, Observed& observed);

}  // namespace dynamo::controller
