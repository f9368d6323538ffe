#include "controller/commands/attempts.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "common/k8s/duration.h"

namespace dynamo::controller {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTerminated = 128 + SIGTERM;
constexpr kube::BackoffOptions kPauses{milliseconds{200}, milliseconds{2000}, 1.5, 0.2};
/// An API server that does not answer may be another one after that, behind the same address.
constexpr milliseconds kLongestRequest{30'000};
constexpr std::chrono::seconds kRefusedTime{10};

}  // namespace

Attempts::Attempts(runtime::EventLoop& loop, std::chrono::nanoseconds time)
    : loop_(loop),
      end_(steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(time)),
      backoff_(kPauses, kube::systemRandom()) {}

kube::CallOptions Attempts::call() const {
  const auto left = std::chrono::duration_cast<milliseconds>(end_ - steady_clock::now());
  return kube::CallOptions{std::clamp(left, milliseconds{1}, kLongestRequest)};
}

runtime::Wait Attempts::pause() {
  return loop_.sleepUntil(std::min(end_, steady_clock::now() + backoff_.next()));
}

void Attempts::succeeded() {
  backoff_.reset();
  refused_.reset();
}

bool Attempts::mayBeAllowedSoon() {
  const auto now = steady_clock::now();
  if (!refused_) refused_ = now;
  return now < *refused_ + kRefusedTime;
}

std::optional<std::chrono::nanoseconds> parseTimeout(const std::string& text) {
  const auto time = k8s::parseDuration(text);
  // A longer time would not fit into the clock.
  if (time && time->count() > 0 && *time <= std::chrono::hours{24}) return time;
  std::cerr << "dynamo-controller: --timeout must be a duration such as 90s or 10m, at most 24h\n";
  return std::nullopt;
}

void endAtSigterm() {
  std::signal(SIGTERM, [](int) { std::_Exit(kTerminated); });
}

}  // namespace dynamo::controller
