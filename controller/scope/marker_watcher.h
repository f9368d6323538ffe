#pragma once
// Watches the marker Leases of restricted operators, for a cluster-wide operator.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"
#include "controller/kube/reflector.h"
#include "controller/scope/held_namespaces.h"

namespace dynamo::controller {

/// The time that a cluster-wide operator waits for the marker Leases before it fails (scope-S9). An API
/// server takes some seconds to start. A missing permission is an error of the installation.
inline constexpr std::chrono::seconds kMarkerSyncTime{60};

/// The requests of a watcher.
struct MarkerSource {
  kube::ListWatch leases;
  kube::ListWatch namespaces;
  /// Lists the marker Leases again, before an expired lease ends an exclusion.
  std::function<kube::Client::ObjectTask(kube::ListOptions)> confirm;
};
/// Returns the requests of a client, which must outlive the result.
MarkerSource markerSource(kube::Client& client);

/// All functions must be called on the loop's thread. The loop and everything that `source` refers to must
/// outlive the watcher, and the watcher must outlive the run of the loop.
class MarkerLeaseWatcher {
 public:
  /// Only Leases in namespaces with `namespaceLabels` count; if empty, Leases in all namespaces do
  /// (scope-S14). `metrics` may be null.
  MarkerLeaseWatcher(runtime::EventLoop& loop, MarkerSource source,
                     const std::map<std::string, std::string>& namespaceLabels,
                     observability::Registry* metrics);

  /// Runs until the loop stops.
  runtime::Task<void> run();
  /// Waits until all Leases have been listed. Returns an error after the deadline. The operator must not
  /// reconcile then, because it could change a namespace that another operator holds.
  runtime::Task<std::optional<std::string>> waitSynced(runtime::Deadline deadline);
  bool synced() const;

  /// Returns true if a restricted operator holds the namespace.
  bool excludes(std::string_view namespaceName) const { return held_.excludes(namespaceName); }
  std::vector<std::string> excluded() const { return held_.excluded(); }  ///< sorted
  /// Adds a listener that is called after each change of `excludes`, also during the first list. When an
  /// exclusion ends, the listener must enqueue every object in the namespace (scope-S3).
  void onChange(std::function<void(const std::string& namespaceName, bool excluded)> listener);

 private:
  kube::Sink leaseSink();
  kube::Sink namespaceSink();
  runtime::Task<void> expire();
  void report(const HeldNamespaces::Change& change);
  void exportHolder(const std::string& namespaceName);

  /// The metric of a namespace. It exists while the namespace is excluded.
  struct Exported {
    std::string holder;
    observability::Gauge gauge;
  };

  runtime::EventLoop& loop_;
  MarkerSource source_;
  bool labelledOnly_;
  HeldNamespaces held_;
  kube::Reflector leases_;
  kube::Reflector namespaces_;
  runtime::Notification changed_;
  observability::Registry* metrics_;
  std::map<std::string, Exported> gauges_;
};

}  // namespace dynamo::controller
