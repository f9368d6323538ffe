#pragma once
// Holds the marker Lease of a namespace-restricted operator.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"
#include "controller/scope/held_namespaces.h"
#include "controller/scope/marker_lease.h"

namespace dynamo::controller {

struct MarkerOptions {
  std::string namespaceName;  ///< the namespace to which the operator is restricted
  std::string operatorVersion;
  std::string podName;
  MarkerTimes times;
};

/// The requests for the Lease. They skip the client's write gate.
struct MarkerAccess {
  std::function<kube::Client::ObjectTask(kube::CallOptions)> get;
  std::function<kube::Client::ObjectTask(std::string, kube::CallOptions)> create;
  std::function<kube::Client::ObjectTask(std::string, kube::CallOptions)> replace;
  std::function<kube::Client::ObjectTask(kube::Preconditions, kube::CallOptions)> remove;
};
/// Returns the requests of a client, which must outlive the result.
MarkerAccess markerAccess(kube::Client& client, const std::string& namespaceName);

/// All functions must be called on the loop's thread. The loop must outlive the holder.
class MarkerLeaseHolder {
 public:
  MarkerLeaseHolder(runtime::EventLoop& loop, MarkerOptions options, MarkerAccess access,
                    std::function<Now()> clock = currentTime);

  /// The reason why the operator must exit; nullopt if it may continue.
  using Failure = std::optional<std::string>;

  /// Writes the Lease. Must be awaited before the first reconcile. Retries for the duration of a lease. After
  /// taking over the namespace from a cluster-wide operator, waits until that operator has observed the
  /// Lease.
  runtime::Task<Failure> acquire();
  /// Renews the Lease until the loop stops, `release` is called, or too many renewals have failed.
  runtime::Task<Failure> hold();
  /// Deletes the Lease if this process is its only holder (scope-S7). Must be awaited before the loop stops.
  runtime::Task<void> release();

  /// Returns true while the lease is certainly valid, so that this operator may act. Usable as a write gate.
  bool holding() const;
  const std::string& identity() const { return identity_; }

 private:
  enum class Written { No, Renewed, TakenOver };

  runtime::Task<Written> writeUntil(runtime::Deadline deadline);
  runtime::Task<Written> attempt(runtime::Deadline deadline);
  kube::CallOptions callUntil(runtime::Deadline deadline) const;
  void observe(const MarkerLease& lease);

  runtime::EventLoop& loop_;
  MarkerOptions options_;
  MarkerAccess access_;
  std::function<Now()> clock_;
  std::string identity_;
  runtime::Notification changed_;
  std::optional<SteadyTime> renewedAt_;  ///< start of the last successful write
  std::string problem_;                  ///< error of the last failed attempt
  bool retryAtOnce_ = false;             ///< another process wrote the Lease between the read and the write
  bool sharedLease_ = false;             ///< another operator renews the Lease
  bool writing_ = false;
  bool released_ = false;
  std::set<std::string> reportedHolders_;
};

}  // namespace dynamo::controller
