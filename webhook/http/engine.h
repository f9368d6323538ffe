#pragma once
// Owns the loops, listeners and workers of the server.

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/runtime/endpoint.h"
#include "webhook/http/loop.h"
#include "webhook/http/metrics.h"
#include "webhook/http/shared.h"

namespace dynamo::webhook::detail {

class Engine {
 public:
  /// Binds the listeners, starts the threads and then accepts connections. Each thread has its own listener.
  static std::variant<std::unique_ptr<Engine>, std::string> start(runtime::Endpoint endpoint, Site site,
                                                                  const Limits& limits, unsigned threads,
                                                                  unsigned workers);
  ~Engine() { stop(std::chrono::milliseconds{0}); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::uint16_t port() const { return port_; }
  void beginDrain() { shared_.draining = true; }
  void stop(std::chrono::milliseconds deadline);
  ServerMetrics metrics() const;

 private:
  Engine(Site site, const Limits& limits) : shared_(limits), site_(std::move(site)) {}
  std::error_code startThreads(unsigned workers);
  Loop& leastBusy();

  Shared shared_;
  const Site site_;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
  std::mutex stopMutex_;
};

}  // namespace dynamo::webhook::detail
