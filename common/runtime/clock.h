#pragma once
// Time for deadlines: the kernel's coarse clock (4 ms steps) costs a fifth of the exact one.

#include <ctime>

#include <chrono>

namespace dynamo::runtime {

/// Since boot.
using Instant = std::chrono::nanoseconds;
inline constexpr Instant kNever = Instant::max();

inline Instant coarseNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace dynamo::runtime
