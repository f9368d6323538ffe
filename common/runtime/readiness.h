#pragma once
// The pages /healthz and /readyz.

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "common/runtime/plain_server.h"

namespace dynamo::runtime {

class Readiness {
 public:
  /// Returns why the program is not ready; empty if it is ready.
  using Check = std::function<std::string()>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// `quick` is called every time, and then `slow`, at most once per second.
  Readiness(
      Check quick, Check slow, Clock clock = [] { return std::chrono::steady_clock::now(); })
      : quick_(std::move(quick)), slow_(std::move(slow)), clock_(std::move(clock)) {}

  /// Returns why the program is not ready, or an empty text if it is ready. May be called from any thread.
  std::string problem();
  /// Makes the program not ready from now on.
  void drain() { draining_ = true; }

 private:
  Check quick_;
  Check slow_;
  Clock clock_;
  std::atomic<bool> draining_{false};
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> checked_;  ///< guarded by mutex_
  std::string lastProblem_;                                       ///< guarded by mutex_
};

/// Notices that a thread no longer comes back to its loop. A restart is then the only remedy.
class Heartbeat {
 public:
  using Clock = Readiness::Clock;
  /// Much longer than any work of a loop, because a restart loses all caches.
  static constexpr std::chrono::seconds kLimit{60};

  explicit Heartbeat(Clock clock = [] { return std::chrono::steady_clock::now(); })
      : clock_(std::move(clock)), last_(clock_()) {}

  /// Must be called by the thread several times within kLimit.
  void beat() { last_ = clock_(); }
  /// Returns an error if the last beat is older than kLimit, or an empty text. May be called from any thread.
  std::string problem() const;

 private:
  Clock clock_;
  std::atomic<std::chrono::steady_clock::time_point> last_;
};

/// Returns a page with plain text.
Page textPage(int status, std::string body);

/// Returns a listener for /readyz, which reports the result of `ready`, and /healthz, which reports that of
/// `live` and must answer at once.
PlainListener probeListener(
    Endpoint listen, Readiness::Check ready, Readiness::Check live = [] { return std::string{}; });

}  // namespace dynamo::runtime
