#pragma once
// The log of what was refused and what failed. It names objects, users and rules, never what an object says.

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "common/observability/rate_limit.h"
#include "webhook/http/events.h"
#include "webhook/routes.h"

namespace dynamo::webhook {

/// Each class of lines has a rate of its own; the next line after some were held back says how many. Must
/// outlive the routes and the server that it watches.
class DecisionLog {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// `denials`: whether denials are logged, which is the users' doing, not a fault.
  explicit DecisionLog(
      bool denials, Clock clock = [] { return std::chrono::steady_clock::now(); });
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  /// Adds itself to `observers`.
  void watch(Observers& observers);
  /// Hooks for the HTTPS server.
  ServerEvents events();

 private:
  // A flood of one of them must not hide the others.
  enum class Class { Denial, Conversion, Refusal, Overload, Certificate, Handshake, Handler };
  static constexpr std::size_t kClasses = 7;

  std::optional<std::uint64_t> pass(Class which);
  void denied(const AdmissionRoute& route, const AdmissionOutcome& outcome);
  void conversionFailed(const ConversionOutcome& outcome);
  void requestRefused(const RequestRefusal& refusal);
  void handshakeFailed(const HandshakeFailure& failure);
  void handlerFailed(const HandlerFailure& failure);

  const bool denials_;
  const Clock clock_;
  std::mutex mutex_;
  std::array<log::RateLimit, kClasses> limits_;  ///< guarded by mutex_
};

}  // namespace dynamo::webhook
