#pragma once
// Leader election over a Lease, compatible with client-go. Writes are fenced: a process that may have lost
// the lease stops writing.

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "common/k8s/timestamp.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"

namespace dynamo::kube {

struct LeaseOptions {
  std::string namespaceName;
  std::string name;
  std::string identity;                         ///< unique name of this process
  std::chrono::milliseconds duration{15'000};   ///< others may take over after this time without a renewal
  std::chrono::milliseconds renewTime{10'000};  ///< the leader steps down after this time without a renewal
  std::chrono::milliseconds retry{2'000};       ///< interval between attempts to acquire or renew the lease
};

/// The requests of an election. They skip the client's write gate.
struct LeaseAccess {
  std::function<Client::ObjectTask()> get;
  std::function<Client::ObjectTask(std::string body)> create;
  std::function<Client::ObjectTask(std::string body)> replace;
};
LeaseAccess leaseAccess(Client& client, const LeaseOptions& options);

/// The fields of a Lease that an election reads.
struct LeaseRecord {
  std::string holder;
  std::string resourceVersion;
  std::chrono::seconds duration{0};
  std::string acquireTime;
  std::string renewTime;
  std::int64_t transitions = 0;
  std::string labels;       ///< as JSON; kept by updates
  std::string annotations;  ///< as JSON; kept by updates
};
LeaseRecord readLease(const json::Value& lease);

/// Not thread-safe. The event loop must outlive the elector.
class LeaderElector {
 public:
  struct Clocks {
    std::function<std::chrono::steady_clock::time_point()> steady = [] {
      return std::chrono::steady_clock::now();
    };
    std::function<k8s::Timestamp()> wall = [] {
      return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    };
  };

  /// `metrics` may be null.
  LeaderElector(runtime::EventLoop& loop, LeaseOptions options, LeaseAccess access,
                observability::Registry* metrics);
  LeaderElector(runtime::EventLoop& loop, LeaseOptions options, LeaseAccess access,
                observability::Registry* metrics, Clocks clocks);

  /// Waits until this process acquires the lease. Returns false if the loop stops first.
  runtime::Task<bool> acquire();
  /// Renews the lease. Returns when the lease is lost, the loop stops, or `release` is called.
  runtime::Task<void> hold();
  /// Releases the lease so that another process can acquire it immediately. This process never leads again.
  runtime::Task<void> release();
  /// Returns true after a call of `release`.
  bool released() const { return released_; }

  /// Returns true while this process is the leader. The result becomes false before another process may take
  /// over, even if requests hang, because the time counts from the start of the last successful renewal.
  bool leading() const;
  /// Returns the last known holder of the lease.
  const std::string& holder() const { return seen_.holder; }

 private:
  enum class Written { Yes, No, Outdated };  // Outdated: another process has changed or deleted the Lease

  runtime::Task<bool> tryOnce();
  /// Writes the Lease on the basis of seen_.
  runtime::Task<Written> write();
  std::string leaseBody(const LeaseRecord* old, bool released) const;
  void observe(LeaseRecord record);
  void setLeading(bool leading);

  runtime::EventLoop& loop_;
  LeaseOptions options_;
  LeaseAccess access_;
  Clocks clocks_;
  runtime::Notification changed_;
  LeaseRecord seen_;
  std::chrono::steady_clock::time_point seenAt_{};  ///< when seen_ last changed
  std::optional<std::chrono::steady_clock::time_point> renewedAt_;
  bool released_ = false;
  observability::Gauge status_;
  observability::Counter slowPath_;
};

}  // namespace dynamo::kube
