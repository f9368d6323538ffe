#include "controller/kube/event_recorder.h"

#include "common/observability/log.h"

namespace dynamo::kube {
namespace {

constexpr log::Logger kLog{"events"};

using runtime::Task;

const Resource& events() {
  static const Resource kEvents{"", "v1", "events", "Event"};
  return kEvents;
}

k8s::Timestamp now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace

EventRecorder::EventRecorder(runtime::EventLoop& loop, Client& client, observability::Registry* metrics)
    : loop_(loop), client_(client), changed_(loop) {
  if (metrics == nullptr) return;
  dropped_ = metrics->counter("dynamo_operator_events_dropped_total", "Events that were not written.");
}

void EventRecorder::record(EventInput event) {
  if (queue_.size() >= kMaxQueuedEvents) {
    queue_.pop_front();
    dropped_.increment();
  }
  queue_.push_back(std::move(event));
  changed_.notify();
}

Task<void> EventRecorder::run() {
  while (!loop_.stopping()) {
    if (queue_.empty()) {
      if (stopped_) break;
      co_await changed_.wait();
      continue;
    }
    EventInput event = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    co_await write(std::move(event));
    writing_ = false;
  }
}

void EventRecorder::stop() {
  stopped_ = true;
  changed_.notify();
}

Task<void> EventRecorder::write(EventInput event) {
  using Kind = EventCorrelator::Decision::Kind;
  EventCorrelator::Decision decision = correlator_.decide(event, now());
  if (decision.kind == Kind::Drop) {
    dropped_.increment();
    co_return;
  }
  const std::string namespaceName =
      event.object.namespaceName.empty() ? "default" : event.object.namespaceName;
  if (decision.kind == Kind::Count) {
    auto patched = co_await client_.patch(events(), namespaceName, decision.name, PatchType::Merge,
                                          eventPatch(decision, now()));
    const auto* error = std::get_if<ApiError>(&patched);
    if (error == nullptr) co_return;
    if (error->reason != Reason::NotFound) {
      kLog.warn("cannot write an event", {{"reason", event.reason}, {"error", error->message}});
      co_return;
    }
    // The Event has expired. The API server keeps Events for one hour by default.
    correlator_.failed(decision);
    decision = correlator_.decide(event, now());
    if (decision.kind != Kind::Create) co_return;
  }
  auto created = co_await client_.create(events(), namespaceName, eventBody(event, decision, now()));
  const auto* error = std::get_if<ApiError>(&created);
  if (error == nullptr) co_return;
  correlator_.failed(decision);
  dropped_.increment();
  // A namespace that is being deleted rejects new Events.
  if (error->cause("NamespaceTerminating") == nullptr)
    kLog.warn("cannot write an event", {{"reason", event.reason}, {"error", error->message}});
}

}  // namespace dynamo::kube
