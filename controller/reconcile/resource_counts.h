#pragma once
// The gauge dynamo_operator_resources_total: the number of custom resources by kind, namespace and status.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "common/json/value.h"
#include "common/observability/metrics.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {

/// The statuses that objects are counted under. Empty: the object has no status yet.
std::string_view graphState(const json::Value& graph);
std::string_view componentReadiness(const json::Value& deployment);  ///< "ready" or "not_ready"
std::string_view adapterReadiness(const json::Value& adapter);       ///< the same
std::string_view modelReadiness(const json::Value& model);
std::string_view phaseOf(const json::Value& checkpoint);

/// Counts objects from changes of the cache, so that a count costs the same with any number of objects.
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
    std::size_t objects = 0;
    bool published = false;
    observability::Gauge gauge = {};
  };
  using Key = std::tuple<std::string, std::string, std::string>;  // kind, namespace, status

  void add(const std::string& kind, const std::string& namespaceName, std::string_view status);
  void subtract(const std::string& kind, const std::string& namespaceName, std::string_view status);

  observability::Registry& metrics_;
  std::map<Key, Series> series_;
};

}  // namespace dynamo::controller
