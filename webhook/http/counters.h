#pragma once
// Counters of one I/O thread. Only this thread writes them; any thread may read them.

#include <atomic>
#include <cstdint>

#include "webhook/http/metrics.h"

namespace dynamo::webhook::detail {

/// There is only one writer, so relaxed loads and stores are enough and no locked instruction is needed.
class Counter {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Aligned to a cache line, so that counting threads do not slow each other down.
struct alignas(64) Counters {
  Counter accepted;
  Counter refused;
  Counter evicted;
  Counter handshakesFailed;
  Counter requestsRefused;
  Counter timeouts;
  Counter failed;

  void addTo(ServerMetrics& sum) const {
    sum.connectionsAccepted += accepted.get();
    sum.connectionsRefused += refused.get();
    sum.connectionsEvicted += evicted.get();
    sum.handshakesFailed += handshakesFailed.get();
    sum.requestsRefused += requestsRefused.get();
    sum.timeouts += timeouts.get();
    sum.connectionsFailed += failed.get();
  }
};

}  // namespace dynamo::webhook::detail
