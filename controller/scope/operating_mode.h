#pragma once
// Runs the parts of the operating mode: the marker lease of a restricted operator, or the watch of all marker
// leases of a cluster-wide one; and the namespaceSelector of the webhooks.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/scope/marker_holder.h"
#include "controller/scope/marker_watcher.h"
#include "controller/scope/scope.h"
#include "controller/scope/webhook_selectors.h"

namespace dynamo::controller {

struct OperatorIdentity {
  std::string namespaceName;  ///< namespace of the operator's pods; if empty, selectors are not written
  std::string version;        ///< version of the Dynamo platform
  std::string podName;
};

/// All functions must be called on the loop's thread. All references must outlive the object, and the object
/// must outlive the run of the loop.
class OperatingMode {
 public:
  OperatingMode(runtime::EventLoop& loop, kube::Client& client, const config::OperatorConfig& config,
                const OperatorIdentity& identity, observability::Registry* metrics);

  /// Must be awaited before the first reconcile. Returns an error that must end the process, or an empty
  /// text.
  runtime::Task<std::string> start();
  /// Starts to write the namespaceSelector. Must be called by the leader only.
  void lead();
  /// Must be awaited after the last reconcile, before the loop stops.
  runtime::Task<void> release();

  /// Returns true if this operator may act on objects in the namespace now.
  bool handles(std::string_view namespaceName) const { return scope_.handles(namespaceName); }
  const std::string& watchedNamespace() const { return scope_.watchedNamespace(); }
  /// Returns true if this operator may write objects of the namespace now. A restricted operator needs its
  /// lease, and a cluster-wide one leaves the namespaces of others alone. Both write facts to their own
  /// namespace. The reconcilers check handles(), too, but a reconcile may last longer than a hand-over
  /// (scope-S2).
  bool mayWrite(std::string_view namespaceName) const;

  /// Sets the function that is called with each namespace that a restricted operator no longer holds.
  void onHandedBack(std::function<void(const std::string&)> listener) { handedBack_ = std::move(listener); }
  /// Sets the function that is called with the reason when the process must end.
  void onFailure(std::function<void(const std::string&)> listener) { failed_ = std::move(listener); }

 private:
  runtime::Task<void> hold();
  void serve();

  runtime::EventLoop& loop_;
  std::string ownNamespace_;
  std::optional<MarkerLeaseHolder> holder_;
  std::optional<MarkerLeaseWatcher> watcher_;
  std::optional<WebhookSelectors> selectors_;
  Scope scope_;
  std::function<void(const std::string&)> handedBack_;
  std::function<void(const std::string&)> failed_;
};

}  // namespace dynamo::controller
