#pragma once
// Exponential backoff with jitter.

#include <algorithm>
#include <chrono>
#include <functional>

namespace dynamo::kube {

/// Returns a uniformly distributed number in [0, 1).
using Random = std::function<double()>;

/// Returns a generator that is seeded by the system.
Random systemRandom();

struct BackoffOptions {
  std::chrono::milliseconds initial{800};
  std::chrono::milliseconds max{30'000};
  double factor = 2;
  double jitter = 1;  ///< each delay is multiplied by 1 to 1 + jitter
};

/// The delays of one sequence of attempts. The jitter spreads the retries of clients that failed together.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options, Random random)
      : options_(options), random_(std::move(random)), base_(options.initial) {}

  /// Returns the delay before the next attempt.
  std::chrono::milliseconds next() {
    const auto delay =
        std::chrono::duration_cast<std::chrono::milliseconds>(base_ * (1 + options_.jitter * random_()));
    base_ = std::min<std::chrono::duration<double, std::milli>>(base_ * options_.factor, options_.max);
    return delay;
  }
  /// Starts again at the initial delay. Call it after a success.
  void reset() { base_ = options_.initial; }

 private:
  BackoffOptions options_;
  Random random_;
  std::chrono::duration<double, std::milli> base_;
};

}  // namespace dynamo::kube
