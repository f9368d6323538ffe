#pragma once
// The state that all connections of a server share. Only atomics change after the start.

#include <malloc.h>
#include <openssl/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "common/runtime/clock.h"
#include "common/runtime/workers.h"
#include "webhook/http/events.h"
#include "webhook/http/exchange.h"
#include "webhook/http/limits.h"

namespace dynamo::webhook::detail {

using runtime::coarseNow;
using runtime::Instant;
using runtime::kNever;

/// Limits the bytes of requests or replies that are held at the same time.
class Budget {
 public:
  /// `reserve`: bytes in addition to the capacity, for small requests only.
  explicit Budget(std::size_t capacity, std::size_t reserve = 0) : capacity_(capacity), reserve_(reserve) {}

  std::size_t capacity() const { return capacity_; }

  bool tryTake(std::size_t bytes, bool fromReserve = false) {
    const std::size_t most = fromReserve ? capacity_ + reserve_ : capacity_;
    auto used = used_.load(std::memory_order_relaxed);
    do {
      if (used > most || bytes > most - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void giveBack(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

  /// Records that a request does not fit, or soon may not. Slow connections that hold budget are then ended.
  void reportShortage(Instant now) { shortageAt_.store(now.count(), std::memory_order_relaxed); }
  bool contended(Instant now) const {
    const auto last = shortageAt_.load(std::memory_order_relaxed);
    return last != 0 && now - Instant{last} < kShortageFor;
  }

 private:
  // Long enough for a sweep to find connections that become slow now.
  static constexpr Instant kShortageFor = kLagAfter + 2 * kSweepInterval;

  const std::size_t capacity_;
  const std::size_t reserve_;
  std::atomic<std::size_t> used_{0};
  std::atomic<Instant::rep> shortageAt_{0};
};

/// The callbacks of a server.
struct Site {
  FindRoute find;
  std::function<std::shared_ptr<SSL_CTX>()> tls;
  ServerEvents events;
  std::function<bool(const X509&)> admits;  ///< empty: everyone
};

class Shared {
 public:
  explicit Shared(const Limits& limits_)
      : limits(limits_),
        conversionBudget(limits_.conversionBudget, limits_.shortListBudget),
        admissionBudget(limits_.admissionBudget),
        replyBudget(limits_.replyBudget) {}

  /// Schedules the return of free pages to the system. It takes milliseconds, so it runs on a worker thread.
  /// At most one such task is queued.
  void trimHeap() {
    if (trimPosted_.exchange(true)) return;
    workers.post([this] {
      trimPosted_ = false;
      malloc_trim(0);
    });
  }

  const Limits limits;
  Budget conversionBudget;
  Budget admissionBudget;  ///< for all other bodies
  Budget replyBudget;      ///< for replies to them
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> listeners{0};
  std::atomic<bool> draining{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> cut{false};  ///< the stop deadline has passed: no more handlers start

 private:
  std::atomic<bool> trimPosted_{false};

 public:
  runtime::Workers workers;  // last, so that its threads end before the other members are destroyed
};

}  // namespace dynamo::webhook::detail
