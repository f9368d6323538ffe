#pragma once
// A token bucket for log lines of one class: an attacker must not fill the disk, nor bury what others say.

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace dynamo::log {

/// Not locked: who shares one between threads guards it. The clock is a parameter; an instant before the last
/// one counts as the last one.
class RateLimit {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// `burst` lines at once, at least 1, then one for each `interval`.
  constexpr RateLimit(std::uint32_t burst, std::chrono::milliseconds interval)
      : burst_(burst), interval_(interval), left_(burst) {}

  /// How many events were held back since the last one that passed, if this one passes; else nullopt.
  constexpr std::optional<std::uint64_t> pass(Instant now) {
    refill(now);
    if (left_ == 0) {
      ++heldBack_;
      return std::nullopt;
    }
    --left_;
    return std::exchange(heldBack_, 0);
  }

 private:
  constexpr void refill(Instant now) {
    if (left_ == burst_) since_ = now;  // a full bucket gains nothing
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
  Instant since_{};  ///< when the next token began to come
  std::uint64_t heldBack_ = 0;
};

}  // namespace dynamo::log
