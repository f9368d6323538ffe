#pragma once
// The log of denials, refused requests and failures. It names objects, users and rules, but never contains
// values of an object.

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

/// Each category of lines has its own rate limit. The first line after suppressed ones reports their number.
/// Must outlive the routes and the server that it observes.
class DecisionLog {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// `denials`: whether denials are logged. They are caused by users and are not faults of the webhook.
  explicit DecisionLog(
      bool denials, Clock clock = [] { return std::chrono::steady_clock::now(); });
  DecisionLog(const DecisionLog&) = delete;
  DecisionLog& operator=(const DecisionLog&) = delete;

  /// Sets the callbacks of `observers` that this log needs.
  void watch(Observers& observers);
  /// Callbacks for the HTTPS server.
  ServerEvents events();

 private:
  // Separate limits, so that many lines of one category do not hide the others.
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
