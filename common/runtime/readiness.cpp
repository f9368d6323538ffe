#include "common/runtime/readiness.h"

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

Page textPage(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body)};
}

PlainListener probeListener(Endpoint listen, Readiness::Check problem) {
  const auto ready = [ask = std::move(problem)] {
    const std::string why = ask();
    return why.empty() ? textPage(200, "ok\n") : textPage(500, why + "\n");
  };
  return {std::move(listen), {{"/healthz", [] { return textPage(200, "ok\n"); }}}, {{"/readyz", ready}}};
}

}  // namespace dynamo::runtime
