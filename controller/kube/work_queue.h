#pragma once
// A rate-limiting work queue like that of client-go. A key is queued at most once and is never processed by
// two workers at the same time. Namespaces share the workers fairly.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/k8s/object_key.h"
#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/fair_queue.h"

namespace dynamo::kube {

/// The retry delay of a key doubles with each failure from 5 ms to 1000 s, as in client-go.
inline constexpr std::chrono::milliseconds kFirstRetry{5};
inline constexpr std::chrono::milliseconds kMaxRetry{1'000'000};

/// Not thread-safe. The event loop must outlive the queue.
class WorkQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Clock = std::function<TimePoint()>;
  using Key = k8s::NamespacedName;

  struct Options {
    std::chrono::milliseconds firstRetry = kFirstRetry;
    std::chrono::milliseconds maxRetry = kMaxRetry;
    /// The number of workers that call `next`, which namespaces share (fair_queue.h).
    std::size_t workers = kUnlimited;
    Clock clock = [] { return std::chrono::steady_clock::now(); };
  };

  /// `name` is the label `name` of the metrics workqueue_*. `metrics` may be null.
  WorkQueue(runtime::EventLoop& loop, std::string_view name, observability::Registry* metrics);
  WorkQueue(runtime::EventLoop& loop, std::string_view name, observability::Registry* metrics,
            Options options);

  /// Queues the key now. A key that is being processed is queued when `done` is called.
  void add(const Key& key);
  /// Queues the key after `delay`. If the key already has a delay, the shorter one applies.
  void addAfter(const Key& key, std::chrono::milliseconds delay);
  /// Queues the key after a delay that doubles with each call since the last `forget`, and is not shorter
  /// than `atLeast`.
  void addRateLimited(const Key& key, std::chrono::milliseconds atLeast = {});
  /// Resets the retry delay of the key. Call it after a success.
  void forget(const Key& key) { failures_.erase(key); }

  /// Waits for the next key. The caller must call `done` for it. Returns nullopt after the queue is shut down
  /// or the loop stops.
  runtime::Task<std::optional<Key>> next();
  /// Returns the next key without waiting, or nullopt if no key is due that may have a worker.
  std::optional<Key> tryNext();
  void done(const Key& key);
  void shutDown();

  /// Returns the number of keys that are due and wait for a worker.
  std::size_t depth() const { return due_.waiting(); }
  /// Returns true if no key is due, delayed, or being processed.
  bool idle() const { return waiting_.empty() && delayed_.empty() && processing_.empty(); }
  /// Updates the gauges that depend on the time. Call it before metrics are rendered.
  void updateMetrics();

 private:
  void push(const Key& key);
  void moveDue();

  runtime::EventLoop& loop_;
  Options options_;
  runtime::Notification changed_;
  FairQueue<Key> due_;
  std::map<Key, TimePoint> waiting_;     ///< the keys in due_, with the time they became due
  std::map<Key, TimePoint> processing_;  ///< keys in progress, with their start time
  std::set<Key> again_;                  ///< keys that `done` queues again
  std::map<Key, TimePoint> delayed_;
  std::set<std::pair<TimePoint, Key>> byTime_;  ///< the entries of delayed_ ordered by time
  std::map<Key, unsigned> failures_;
  bool shutDown_ = false;

  observability::Gauge depthMetric_;
  observability::Counter adds_;
  observability::Counter retries_;
  observability::Histogram queueSeconds_;
  observability::Histogram workSeconds_;
  observability::Gauge unfinished_;
  observability::Gauge longest_;
};

}  // namespace dynamo::kube
