#pragma once
// Writes Events asynchronously.

#include <cstddef>
#include <deque>

#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"
#include "controller/kube/event_correlator.h"

namespace dynamo::kube {

/// The maximum number of queued Events. Events are best effort: the oldest are dropped first.
inline constexpr std::size_t kMaxQueuedEvents = 1000;

/// Not thread-safe. The event loop and the client must outlive the recorder.
class EventRecorder {
 public:
  /// `metrics` may be null.
  EventRecorder(runtime::EventLoop& loop, Client& client, observability::Registry* metrics);

  /// Queues the Event and returns immediately. `run` writes it.
  void record(EventInput event);
  /// Writes until the loop stops or `stop` is called.
  runtime::Task<void> run();
  /// Makes `run` return after it has written the queued Events.
  void stop();
  /// Returns the number of Events that are not written yet, including the one in progress.
  std::size_t queued() const { return queue_.size() + (writing_ ? 1 : 0); }

 private:
  runtime::Task<void> write(EventInput event);
  template <class Send>
  runtime::Task<Result<json::Document>> repeat(Send send);

  runtime::EventLoop& loop_;
  Client& client_;
  EventCorrelator correlator_;
  runtime::Notification changed_;
  std::deque<EventInput> queue_;
  bool stopped_ = false;
  bool writing_ = false;
  observability::Counter dropped_;
};

}  // namespace dynamo::kube
