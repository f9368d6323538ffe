#pragma once
// What all connections of one server share. Only atomics change after the start.

#include <malloc.h>
#include <openssl/types.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "webhook/http/clock.h"
#include "webhook/http/exchange.h"
#include "webhook/http/limits.h"
#include "webhook/http/workers.h"

namespace dynamo::webhook::detail {

/// Bytes of requests or replies that may be held at a time.
class Budget {
 public:
  explicit Budget(std::size_t capacity) : capacity_(capacity) {}

  std::size_t capacity() const { return capacity_; }

  bool tryTake(std::size_t bytes) {
    auto used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > capacity_ - used) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void giveBack(std::size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }

  /// Somebody has no room, or soon has none: who lags must go.
  void want(Instant now) { wanted_.store(now.count(), std::memory_order_relaxed); }
  bool wanted(Instant now) const {
    const auto last = wanted_.load(std::memory_order_relaxed);
    return last != 0 && now - Instant{last} < kWantedFor;
  }

 private:
  // Every connection is looked at within it.
  static constexpr Instant kWantedFor = 2 * kSweepInterval;

  const std::size_t capacity_;
  std::atomic<std::size_t> used_{0};
  std::atomic<Instant::rep> wanted_{0};
};

/// What one listening port serves.
struct Site {
  enum class Speaks {
    reviews,  ///< POST of application/json
    pages,    ///< GET and HEAD, no request body
  };
  Speaks speaks = Speaks::reviews;
  FindRoute find;
  std::function<std::shared_ptr<SSL_CTX>()> tls;  ///< empty: plain HTTP
};

class Shared {
 public:
  Shared(const Limits& limits_, unsigned workers_)
      : limits(limits_),
        budget(limits_.bodyBudget),
        promptBudget(limits_.promptBudget),
        replyBudget(limits_.replyBudget),
        workers(workers_) {}

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
  Budget budget;        ///< of routes that wait
  Budget promptBudget;  ///< of all others
  Budget replyBudget;   ///< their replies
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> listeners{0};
  std::atomic<bool> draining{false};
  std::atomic<bool> stopping{false};
  std::atomic<bool> cut{false};  ///< the time to stop is over: no handler begins any more

 private:
  std::atomic<bool> trimPosted_{false};

 public:
  Workers workers;  // last: its threads end before the rest goes
};

}  // namespace dynamo::webhook::detail
