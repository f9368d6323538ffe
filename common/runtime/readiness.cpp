#include "common/runtime/readiness.h"

#include <fmt/format.h>

namespace dynamo::runtime {
namespace {

constexpr std::chrono::seconds kCheckAgain{1};

}  // namespace

std::string Readiness::problem() {
  if (draining_) return "shutting down";
  if (std::string problem = quick_(); !problem.empty()) return problem;
  const std::lock_guard lock{mutex_};
  if (!checked_ || clock_() - *checked_ >= kCheckAgain) {
    lastProblem_ = slow_();
    checked_ = clock_();  // the end of the check, so that slow checks do not run back to back
  }
  return lastProblem_;
}

std::string Heartbeat::problem() const {
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(clock_() - last_.load());
  return silent <= kLimit ? std::string{}
                          : fmt::format("the event loop has not run for {} s", silent.count());
}

Page textPage(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body)};
}

PlainListener probeListener(Endpoint listen, Readiness::Check ready, Readiness::Check live) {
  const auto pageOf = [](Readiness::Check check) {
    return [check = std::move(check)] {
      const std::string why = check();
      return why.empty() ? textPage(200, "ok\n") : textPage(500, why + "\n");
    };
  };
  return {
      std::move(listen), {{"/healthz", pageOf(std::move(live))}}, {{"/readyz", pageOf(std::move(ready))}}};
}

}  // namespace dynamo::runtime
