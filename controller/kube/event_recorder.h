#pragma once
// Writes Events asynchronously.

#include <cstddef>
#include <string>

#include "common/observability/metrics.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "common/runtime/task_group.h"
#include "controller/kube/client.h"
#include "controller/kube/event_correlator.h"
#include "controller/kube/fair_queue.h"

namespace dynamo::kube {

/// The maximum number of queued Events. Events are best effort: the oldest of the namespace with the most are
/// dropped first.
inline constexpr std::size_t kMaxQueuedEvents = 1000;
/// The number of Events that are written at the same time. Those of one namespace are written one by one: the
/// correlator counts an Event that exists, and slow writes of one namespace delay no others.
inline constexpr std::size_t kEventWriters = 8;

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
  std::size_t queued() const { return queue_.waiting() + writing_; }

 private:
  runtime::Task<void> writeNext(EventInput event);
  runtime::Task<void> write(EventInput event, std::string namespaceName);
  template <class Send>
  runtime::Task<Result<json::Document>> repeat(Send send);

  runtime::EventLoop& loop_;
  Client& client_;
  EventCorrelator correlator_;
  runtime::Notification changed_;
  FairQueue<EventInput> queue_{kEventWriters, 1};
  bool stopped_ = false;
  std::size_t writing_ = 0;  ///< the number of Events in progress
  observability::Counter dropped_;
};

}  // namespace dynamo::kube
