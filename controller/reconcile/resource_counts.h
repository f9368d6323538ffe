#pragma once
// The gauges about objects: dynamo_operator_resources_total, the number of custom resources by kind,
// namespace and status, and those of graph_figures.h.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "common/json/value.h"
#include "common/observability/metrics.h"
#include "controller/kube/cache.h"
#include "controller/reconcile/graph_figures.h"

namespace dynamo::controller {

/// The statuses that objects are counted under. Empty: the object has no status yet.
std::string_view graphState(const json::Value& graph);
std::string_view componentReadiness(const json::Value& deployment);  ///< "ready" or "not_ready"
std::string_view adapterReadiness(const json::Value& adapter);       ///< the same
std::string_view modelReadiness(const json::Value& model);
std::string_view phaseOf(const json::Value& checkpoint);

/// Adds up the figures of objects from changes of the cache, so that a sum costs the same with any number of
/// objects.
class ResourceCounts {
 public:
  /// The registry must outlive the counts.
  explicit ResourceCounts(observability::Registry& metrics) : metrics_(metrics) {}

  /// Changes of other kinds are ignored.
  void changed(const kube::Change& change);

  /// Updates the gauges. A series without objects is removed, and so are those of namespaces that this
  /// process does not manage (quirk ctl-Q25).
  void publish(const std::function<bool(std::string_view)>& handles);

 private:
  struct Series {
    long long objects = 0;
    double value = 0;  ///< the sum of the figures of these objects
    bool published = false;
    observability::Gauge gauge = {};
  };
  /// The gauge, the namespace, and the values of the other labels.
  using Key = std::tuple<const ObjectGauge*, std::string, std::string, std::string>;

  /// `sign` is -1 for the object before a change.
  void addFigures(const k8s::ObjectKey& key, std::string_view status, const json::Value& object, int sign);
  observability::Gauge gaugeOf(const Key& key);

  observability::Registry& metrics_;
  std::map<Key, Series> series_;
};

}  // namespace dynamo::controller
