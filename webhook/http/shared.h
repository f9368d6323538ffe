#pragma once
// What all connections of one server share. Only atomics change after the start.

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

/// Bytes of requests or replies that may be held at a time.
class Budget {
 public:
  /// `reserve`: bytes beside the capacity, for those who need few.
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

  /// Somebody has no room, or soon has none: who lags, or will until he asks again, must go.
  void want(Instant now) { wanted_.store(now.count(), std::memory_order_relaxed); }
  bool wanted(Instant now) const {
    const auto last = wanted_.load(std::memory_order_relaxed);
    return last != 0 && now - Instant{last} < kWantedFor;
  }

 private:
  // Whoever falls silent now is looked at within it.
  static constexpr Instant kWantedFor = kLagAfter + 2 * kSweepInterval;

  const std::size_t capacity_;
  const std::size_t reserve_;
  std::atomic<std::size_t> used_{0};
  std::atomic<Instant::rep> wanted_{0};
};

/// What one listening port serves.
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

  /// Returns free pages to the system, soon. It takes milliseconds, so not on an I/O thread; one at a time
  /// is enough.
  void trimHeap() {
    if (trimPosted_.exchange(true)) return;
    workers.post([this] {
      trimPosted_ = false;
      malloc_trim(0);
    });
  }

  const Limits limits;
  Budget conversionBudget;
  Budget admissionBudget;  ///< of all other bodies
  Budget replyBudget;      ///< their replies
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> listeners{0};
  std::atomic<bool> draining{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> cut{false};  ///< the time to stop is over: no handler begins any more

 private:
  std::atomic<bool> trimPosted_{false};

 public:
  runtime::Workers workers;  // last: its threads end before the rest goes
};

}  // namespace dynamo::webhook::detail
