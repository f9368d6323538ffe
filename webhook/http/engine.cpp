#include "webhook/http/engine.h"

#include <algorithm>

#include "webhook/http/resources.h"

namespace dynamo::webhook::detail {
namespace {

// How often `stop` looks whether the connections are gone.
constexpr std::chrono::milliseconds kStopPoll{1};

}  // namespace

Engine::Engine(std::vector<Door> doors, const Limits& limits, unsigned workers)
    : shared_(limits, workers), doors_(std::move(doors)) {}

std::variant<std::unique_ptr<Engine>, std::string> Engine::start(std::vector<Door> doors,
                                                                 const Limits& limits, unsigned threads,
                                                                 unsigned workers, bool reusePort) {
  if (threads == 0) threads = usableProcessors();
  std::unique_ptr<Engine> engine{new Engine(std::move(doors), limits, workers)};
  for (unsigned i = 0; i < threads; ++i) {
    engine->loops_.push_back(std::make_unique<Loop>(engine->shared_));
  }
  for (const auto& door : engine->doors_) {
    Endpoint endpoint = door.endpoint;
    for (auto& loop : engine->loops_) {
      auto bound = listenOn(endpoint, reusePort);
      if (auto* error = std::get_if<std::string>(&bound)) return std::move(*error);
      auto& listening = std::get<Listening>(bound);
      endpoint.port = listening.port;  // the others share what the system chose for the first
      // The kernel spreads connections by a hash: of few connections, as an API server keeps, all may
      // come to one thread. So the loop that accepts passes each on to the least busy one.
      loop->listen(std::move(listening.fd), door.site,
                   [raw = engine.get()]() -> Loop& { return raw->leastBusy(); });
    }
    engine->ports_.push_back(endpoint.port);
  }
  for (auto& loop : engine->loops_) {
    engine->threads_.push_back(startThread([raw = loop.get()] { raw->run(); }));
  }
  return engine;
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
  // From here only handlers that are running hold a connection; they cannot be interrupted. Those in the
  // queue pass.
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
  sum.bodyBytes = shared_.budget.used() + shared_.promptBudget.used();
  sum.replyBytes = shared_.replyBudget.used();
  sum.requestsQueued = shared_.workers.queued();
  return sum;
}

}  // namespace dynamo::webhook::detail
