#pragma once
// A token bucket for log lines, so that an attacker cannot fill the disk or hide other lines.

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace dynamo::log {

/// Not thread-safe. The clock is a parameter; a time before the last one counts as the last one.
class RateLimit {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// Allows `burst` lines at once, at least 1, and then one line per `interval`.
  constexpr RateLimit(std::uint32_t burst, std::chrono::milliseconds interval)
      : burst_(burst), interval_(interval), left_(burst) {}

  /// If this event passes, returns the number of suppressed events since the last one that passed; else
  /// nullopt.
  constexpr std::optional<std::uint64_t> pass(Instant now) {
    refill(now);
    if (left_ == 0) {
      ++suppressed_;
      return std::nullopt;
    }
    --left_;
    return std::exchange(suppressed_, 0);
  }

 private:
  constexpr void refill(Instant now) {
    if (left_ == burst_) since_ = now;  // a full bucket gains no tokens
    if (now <= since_) return;
    const auto gained = (now - since_) / interval_;
    if (gained >= std::int64_t{burst_} - left_) {
      left_ = burst_;
      since_ = now;
    } else {
      left_ += static_cast<std::uint32_t>(gained);
      since_ += gained * interval_;
    }
  }

  std::uint32_t burst_;
  std::chrono::milliseconds interval_;
  std::uint32_t left_;
  Instant since_{};  ///< start of the interval for the next token
  std::uint64_t suppressed_ = 0;
};

}  // namespace dynamo::log
