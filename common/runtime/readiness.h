#pragma once
// /healthz and /readyz.

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
  /// Says why the program is not ready; empty when it is.
  using Check = std::function<std::string()>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// `quick` is asked each time, and then `slow`, at most once a second.
  Readiness(
      Check quick, Check slow, Clock clock = [] { return std::chrono::steady_clock::now(); })
      : quick_(std::move(quick)), slow_(std::move(slow)), clock_(std::move(clock)) {}

  /// Why not ready; empty when ready. From any thread.
  std::string problem();
  /// From now on never ready again.
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

/// A page of plain text.
Page textPage(int status, std::string body);

/// A listener that answers /healthz while the program runs, and /readyz by what `problem` says.
PlainListener probeListener(Endpoint listen, Readiness::Check problem);

}  // namespace dynamo::runtime
