#include "webhook/http/engine.h"

#include <algorithm>

#include "common/runtime/resources.h"

namespace dynamo::webhook::detail {
namespace {

// Interval in which `stop` checks whether all connections have ended.
constexpr std::chrono::milliseconds kStopPoll{1};

}  // namespace

std::variant<std::unique_ptr<Engine>, std::string> Engine::start(runtime::Endpoint endpoint, Site site,
                                                                 const Limits& limits, unsigned threads,
                                                                 unsigned workers) try {
  if (threads == 0) threads = runtime::usableProcessors();
  std::unique_ptr<Engine> engine{new Engine(std::move(site), limits)};
  std::vector<runtime::UniqueFd> bound;  // one per loop
  for (unsigned i = 0; i < threads; ++i) {
    engine->loops_.push_back(std::make_unique<Loop>(engine->shared_));
    auto listening = runtime::listenOn(endpoint, {true, kUnacknowledgedDeadline});
    if (auto* error = std::get_if<std::string>(&listening)) return std::move(*error);
    auto& [fd, port] = std::get<runtime::Listening>(listening);
    endpoint.port = port;  // all listeners share the port that the system chose for the first
    bound.push_back(std::move(fd));
  }
  engine->port_ = endpoint.port;
  if (const auto error = engine->startThreads(workers)) return "cannot start a thread: " + error.message();
  for (unsigned i = 0; i < threads; ++i) {
    // The kernel distributes connections by a hash, so the few connections of an API server may all arrive at
    // one thread. Therefore the accepting loop passes each connection to the least busy loop.
    engine->loops_[i]->listen(std::move(bound[i]), engine->site_,
                              [raw = engine.get()]() -> Loop& { return raw->leastBusy(); });
  }
  return engine;
} catch (const std::system_error& error) {  // thrown by Asio when no file descriptors are left
  return "cannot start a server: " + error.code().message();
}

std::error_code Engine::startThreads(unsigned workers) {
  if (const auto error = shared_.workers.start(workers)) return error;
  for (auto& loop : loops_) {
    if (const auto error = runtime::startThread(threads_, [raw = loop.get()] { raw->run(); })) return error;
  }
  return {};
}

Loop& Engine::leastBusy() {
  return **std::min_element(loops_.begin(), loops_.end(),
                            [](const auto& a, const auto& b) { return a->open() < b->open(); });
}

void Engine::stop(std::chrono::milliseconds deadline) {
  const std::lock_guard lock{stopMutex_};
  if (threads_.empty()) return;
  const auto last = std::chrono::steady_clock::now() + deadline;
  shared_.draining = true;
  shared_.stopping = true;
  for (auto& loop : loops_) loop->beginStop();
  const auto gone = [this] { return shared_.listeners == 0 && shared_.connections == 0; };
  while (!gone() && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(kStopPoll);
  // From here on only running handlers keep a connection open, because they cannot be interrupted. Queued
  // handlers are skipped.
  shared_.cut = true;
  while (!gone()) {
    for (auto& loop : loops_) loop->abort();
    std::this_thread::sleep_for(kStopPoll);
  }
  for (auto& loop : loops_) loop->finish();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  shared_.workers.stop();
}

ServerMetrics Engine::metrics() const {
  ServerMetrics sum;
  for (const auto& loop : loops_) loop->counters().addTo(sum);
  sum.connectionsOpen = shared_.connections;
  sum.bodyBytes = shared_.conversionBudget.used() + shared_.admissionBudget.used();
  sum.replyBytes = shared_.replyBudget.used();
  sum.requestsQueued = shared_.workers.queued();
  return sum;
}

}  // namespace dynamo::webhook::detail
