#pragma once
// Runs the controllers: discovery, watches, leader election, then the reconcile loops.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/cache.h"
#include "controller/kube/client.h"
#include "controller/kube/event_recorder.h"
#include "controller/kube/lease.h"
#include "controller/kube/reflector.h"
#include "controller/kube/shard.h"
#include "controller/reconcile/default_queues.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/facts.h"
#include "controller/reconcile/facts_writer.h"
#include "controller/reconcile/gpu_discovery.h"
#include "controller/reconcile/reconcile_loop.h"
#include "controller/reconcile/resource_counts.h"
#include "controller/reconcile/ssh_key.h"
#include "controller/reconcile/watches.h"
#include "controller/scope/operating_mode.h"

namespace dynamo::controller {

struct ManagerOptions {
  OperatorIdentity own;
  std::string leaseNamespace;                ///< namespace of the Lease for the leader election
  std::string identity;                      ///< identity of this process in the leader election
  kube::Shard shard;                         ///< only namespaces of this shard are reconciled
  std::string metricsUrl{gpu::kMetricsUrl};  ///< of DCGM exporters (gpu::exporterOf)
};

/// All functions except `problem` must be called on the loop's thread. The loop, the client, the
/// configuration and the registry must outlive the manager.
class Manager {
 public:
  Manager(runtime::EventLoop& loop, kube::Client& client, const config::OperatorConfig& config,
          observability::Registry& metrics, ManagerOptions options);

  /// Runs until `stop` is called or leadership is lost. Returns the error, or an empty text after `stop`.
  runtime::Task<std::string> run();
  /// Waits for the current reconciles, writes the queued Events, releases the lease and ends `run`.
  runtime::Task<void> stop();
  /// Returns why the process is not ready, or an empty text if it is ready. May be called from any thread.
  std::string problem() const;
  /// Whether the ConfigMap with the facts exists, or could not be written. Must be called on the loop's
  /// thread.
  bool triedFacts() const { return triedFacts_; }

 private:
  /// Starts watches and updates the facts. Returns an error message, or an empty text after success.
  runtime::Task<std::string> discover();
  runtime::Task<void> waitForDiscovery();
  /// Waits until watches that have just started are in sync, but not longer than to the next discovery.
  runtime::Task<void> waitForNewWatches();
  runtime::Task<void> rediscover();
  std::string missingApi() const;
  void addWatches();
  runtime::Task<void> waitForSync();
  runtime::Task<void> hold();
  runtime::Task<void> refreshMetrics();
  /// Whether this process reconciles the objects of a namespace.
  bool handles(std::string_view namespaceName) const;
  void changed(const kube::Change& change);
  /// Starts the reconcile loops with all objects.
  void startLoops();
  void reconcileNamespace(const std::string& namespaceName);
  ReconcileLoop* loopOf(std::string_view kind);
  void fail(const std::string& reason);
  void setProblem(std::string problem);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  const config::OperatorConfig& config_;
  ManagerOptions options_;
  model::ComponentDefaults defaults_;
  kube::Cache cache_;
  ClusterFacts facts_;
  std::string serverVersion_;  ///< of the API server; empty if unknown
  kube::EventRecorder events_;
  OperatingMode mode_;
  SshKeys sshKeys_;
  GpuDiscovery gpus_;
  std::optional<FactsWriter> factsWriter_;
  std::optional<DefaultQueues> defaultQueues_;
  Watches watches_;
  Environment environment_;
  std::vector<std::unique_ptr<ReconcileLoop>> loops_;
  ResourceCounts counts_;
  std::optional<kube::LeaderElector> elector_;
  runtime::Notification stopped_;
  bool synced_ = false;
  bool triedFacts_ = false;
  bool reconciling_ = false;  ///< the loops run
  bool stopping_ = false;
  std::string failure_;
  mutable std::mutex mutex_;
  std::string problem_ = "starting";  ///< guarded by mutex_
};

}  // namespace dynamo::controller
