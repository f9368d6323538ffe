#pragma once
// The queue and the workers of one reconciler.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "common/observability/metrics.h"
#include "common/runtime/task_group.h"
#include "controller/kube/work_queue.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {

/// The number of concurrent reconciles of one kind. Reconciles mostly wait for the API server, and six keep
/// it busy: with 16, tests/bench/controller creates no more children per second, but needs more memory and
/// writes more statuses, because bursts of changes take longer. One namespace alone has two thirds of them,
/// so that slow writes in it do not delay the others (kube/fair_queue.h).
inline constexpr std::size_t kWorkers = 6;

/// The delay of a reconcile after a change of a child. Children change in bursts when they are created and
/// when their pods start, and one reconcile per burst saves writes of the status.
inline constexpr std::chrono::milliseconds kChildDelay{100};

/// The metrics of a namespace are removed when it has had no objects of the kind for this time, so that the
/// last values are scraped.
inline constexpr std::chrono::minutes kKeepMetrics{5};

/// All functions must be called on the loop's thread. The environment must outlive the loop.
class ReconcileLoop {
 public:
  /// The kind must have a reconciler. `handles` returns whether this process manages a namespace. It is
  /// called before each reconcile.
  ReconcileLoop(Environment& environment, const WatchedKind& kind, observability::Registry& metrics,
                std::function<bool(std::string_view)> handles);

  const kube::Resource& resource() const { return kind_.resource; }
  void add(const k8s::ObjectKey& key);
  /// Queues an object after a change of one of its children. The delay is kChildDelay, unless the object is
  /// already queued for an earlier time.
  void addForChild(const k8s::ObjectKey& key);
  /// Queues the objects whose last reconcile looked up one of these facts.
  void factsChanged(const render::FactKeys& keys);
  /// Removes the data stored for a deleted object.
  void forget(const k8s::ObjectKey& key);

  /// Starts the workers.
  void start();
  /// Waits for the current reconciles and ends the workers.
  runtime::Task<void> stop();
  bool idle() const { return queue_.idle(); }
  /// Updates the gauges that depend on the time, and removes the metrics of namespaces that have no objects
  /// of the kind any more, or that this process does not manage any more.
  void updateMetrics(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  runtime::Task<void> work();
  /// Decision ctl-Q61. The objects of some kinds are of before a restore until all are listed again.
  runtime::Task<void> awaitRestore();
  runtime::Task<void> reconcile(k8s::NamespacedName name);
  void finish(const k8s::NamespacedName& name, const k8s::ObjectKey& key, const ReconcileResult& result,
              double seconds);
  void removeMetrics(const std::string& namespaceName);
  void setLookedUp(const k8s::NamespacedName& name, render::FactKeys keys);

  Environment& environment_;
  const WatchedKind& kind_;
  observability::Registry& metrics_;
  std::function<bool(std::string_view)> handles_;
  kube::WorkQueue queue_;
  runtime::TaskGroup workers_;
  /// Most objects of a namespace look up the same facts, so each set is stored once, with its number of uses.
  std::map<render::FactKeys, std::size_t> factSets_;
  std::map<k8s::NamespacedName, const render::FactKeys*> lookedUp_;
  /// Namespaces whose objects may all be gone, with the time of the last removal.
  std::map<std::string, std::chrono::steady_clock::time_point> emptied_;
  bool stopping_ = false;
  observability::Gauge activeWorkers_;
  observability::Counter errors_;
  observability::Counter panics_;
};

}  // namespace dynamo::controller
