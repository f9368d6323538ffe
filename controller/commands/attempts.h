#pragma once
// What commands of Jobs and init containers share: they repeat requests until a time is over.

#include <chrono>
#include <optional>
#include <string>

#include "common/runtime/event_loop.h"
#include "controller/kube/backoff.h"
#include "controller/kube/client_options.h"

namespace dynamo::controller {

/// Requests that are repeated, with growing pauses, until the time is over.
class Attempts {
 public:
  Attempts(runtime::EventLoop& loop, std::chrono::nanoseconds time);

  /// Whether there is no time left.
  bool over() const { return std::chrono::steady_clock::now() >= end_; }
  /// Options of a request that ends with the time.
  kube::CallOptions call() const;
  /// Waits before the next attempt, at most until the time is over.
  runtime::Wait pause();
  /// Makes the next pauses short again. Call it after a success.
  void succeeded();
  /// Whether missing rights or unknown credentials may still come: an API server that has just started, or
  /// that has not seen new rules yet, refuses for a moment. To be called at each such refusal.
  bool mayBeAllowedSoon();
  /// To be called at each answer that is no such refusal.
  void allowed() { refused_.reset(); }

 private:
  runtime::EventLoop& loop_;
  std::chrono::steady_clock::time_point end_;
  kube::Backoff backoff_;
  std::optional<std::chrono::steady_clock::time_point> refused_;  ///< since when
};

/// Parses a flag --timeout. Returns nullopt, and writes why to standard error, if it is no duration above 0.
std::optional<std::chrono::nanoseconds> parseTimeout(const std::string& text);

/// Ends the process at SIGTERM, which the first process of a container ignores without a handler.
void endAtSigterm();

}  // namespace dynamo::controller
