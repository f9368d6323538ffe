#pragma once
// Loops, listeners and workers of one server: what the TLS and the plain server have in common.

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

#include "webhook/http/endpoint.h"
#include "webhook/http/loop.h"
#include "webhook/http/metrics.h"
#include "webhook/http/shared.h"

namespace dynamo::webhook::detail {

struct Door {
  Endpoint endpoint;
  Site site;
};

class Engine {
 public:
  /// Binds all endpoints, starts the threads, then accepts. With more than one thread each has its own
  /// listener.
  static std::variant<std::unique_ptr<Engine>, std::string> start(std::vector<Door> doors,
                                                                  const Limits& limits, unsigned threads,
                                                                  unsigned workers, bool reusePort);
  ~Engine() { stop(std::chrono::milliseconds{0}); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::uint16_t port(std::size_t door) const { return ports_.at(door); }
  void beginDrain() { shared_.draining = true; }
  void stop(std::chrono::milliseconds deadline);
  ServerMetrics metrics() const;

 private:
  Engine(std::vector<Door> doors, const Limits& limits) : shared_(limits), doors_(std::move(doors)) {}
  std::error_code startThreads(unsigned workers);
  Loop& leastBusy();

  Shared shared_;
  std::vector<Door> doors_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::thread> threads_;
  std::mutex stopMutex_;
};

}  // namespace dynamo::webhook::detail
