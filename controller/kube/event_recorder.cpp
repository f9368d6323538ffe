#include "controller/kube/event_recorder.h"

#include <chrono>
#include <string>

#include "common/observability/log.h"

namespace dynamo::kube {
namespace {

constexpr log::Logger kLog{"events"};
// A request is repeated for about 13 seconds.
constexpr std::chrono::milliseconds kFirstDelay{100};
constexpr int kMaxAttempts = 8;

const CallOptions kCall{Slots::Events};

using runtime::Task;

const Resource& events() {
  static const Resource kEvents{"", "v1", "events", "Event"};
  return kEvents;
}

k8s::Timestamp now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

std::string namespaceOf(const EventInput& event) {
  return event.object.namespaceName.empty() ? "default" : event.object.namespaceName;
}

}  // namespace

EventRecorder::EventRecorder(runtime::EventLoop& loop, Client& client, observability::Registry* metrics)
    : loop_(loop), client_(client), changed_(loop) {
  if (metrics == nullptr) return;
  dropped_ = metrics->counter("dynamo_operator_events_dropped_total", "Events that were not written.");
}

void EventRecorder::record(EventInput event) {
  if (queue_.waiting() >= kMaxQueuedEvents) {
    queue_.dropOldest();
    dropped_.increment();
  }
  const std::string namespaceName = namespaceOf(event);
  queue_.push(namespaceName, std::move(event));
  changed_.notify();
}

Task<void> EventRecorder::run() {
  runtime::TaskGroup writers{loop_};
  while (!loop_.stopping()) {
    while (std::optional<EventInput> event = queue_.take()) {
      ++writing_;
      writers.spawn(writeNext(std::move(*event)));
    }
    if (stopped_ && queued() == 0) break;
    co_await changed_.wait();
  }
  co_await writers.join();
}

Task<void> EventRecorder::writeNext(EventInput event) {
  const std::string namespaceName = namespaceOf(event);
  co_await write(std::move(event), namespaceName);
  --writing_;
  queue_.release(namespaceName);
  changed_.notify();
}

void EventRecorder::stop() {
  stopped_ = true;
  changed_.notify();
}

/// A connection that breaks does not tell whether the request was carried out. Both requests may be repeated:
/// the name of a new Event is in its body.
template <class Send>
Task<Result<json::Document>> EventRecorder::repeat(Send send) {
  auto delay = kFirstDelay;
  for (int attempt = 1;; ++attempt, delay *= 2) {
    auto answer = co_await send();
    const auto* error = std::get_if<ApiError>(&answer);
    if (error == nullptr || error->status != 0 || attempt == kMaxAttempts || stopped_ || loop_.stopping())
      co_return answer;
    co_await loop_.sleepUntil(std::chrono::steady_clock::now() + delay);
  }
}

Task<void> EventRecorder::write(EventInput event, std::string namespaceName) {
  using Kind = EventCorrelator::Decision::Kind;
  EventCorrelator::Decision decision = correlator_.decide(event, now());
  if (decision.kind == Kind::Drop) {
    dropped_.increment();
    co_return;
  }
  if (decision.kind == Kind::Count) {
    const std::string body = eventPatch(decision, now());
    const PatchOptions options;
    const auto patch = [&] {
      return client_.patch(events(), namespaceName, decision.name, PatchType::Merge, body, options, kCall);
    };
    auto patched = co_await repeat(patch);
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
  const std::string body = eventBody(event, decision, now());
  const auto create = [&] { return client_.create(events(), namespaceName, body, false, kCall); };
  auto created = co_await repeat(create);
  const auto* error = std::get_if<ApiError>(&created);
  // A repeated request finds the Event of the first one.
  if (error == nullptr || error->reason == Reason::AlreadyExists) co_return;
  correlator_.failed(decision);
  dropped_.increment();
  // A namespace that is being deleted rejects new Events.
  if (error->cause("NamespaceTerminating") == nullptr)
    kLog.warn("cannot write an event", {{"reason", event.reason}, {"error", error->message}});
}

}  // namespace dynamo::kube
