#include "webhook/commands/decision_log.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/observability/log.h"

namespace dynamo::webhook {
namespace {

using namespace std::chrono_literals;

constexpr log::Logger kAdmissionLog{"admission"};
constexpr log::Logger kConversionLog{"conversion"};
constexpr log::Logger kHttpLog{"http"};

// A pipeline that applies a directory of manifests can cause this many denials at once.
constexpr log::RateLimit kDenialRate{100, 100ms};
// Client errors usually repeat until somebody fixes the client, so one line per second is enough.
constexpr log::RateLimit kClientErrorRate{20, 1s};

constexpr int kServiceUnavailable = 503;

// TLS alerts that a client sends when it does not accept the serving certificate (RFC 8446 section 6.2).
constexpr int kBadCertificate = 42;
constexpr int kUnsupportedCertificate = 43;
constexpr int kCertificateExpired = 45;
constexpr int kCertificateUnknown = 46;
constexpr int kUnknownCa = 48;

constexpr std::string_view kTrustHint =
    "the client does not accept the serving certificate; if it is the API server, the caBundle of the "
    "webhook "
    "configuration or CRD does not match tls.crt, or tls.crt has the wrong names or dates";

bool rejectsCertificate(int alert) {
  return alert == kBadCertificate || alert == kUnsupportedCertificate || alert == kCertificateExpired ||
         alert == kCertificateUnknown || alert == kUnknownCa;
}

/// The ids of the rules, each once, in the order of the errors.
std::string rulesOf(const std::vector<field::FieldError>& errors) {
  std::vector<std::string_view> seen;
  std::string out;
  for (const field::FieldError& error : errors) {
    if (std::find(seen.begin(), seen.end(), error.rule) != seen.end()) continue;
    seen.emplace_back(error.rule);
    if (!out.empty()) out += ',';
    out += error.rule;
    if (out.size() > log::kMaxValue) break;  // log lines truncate longer values
  }
  return out;
}

/// An empty number or text gets an empty key, and fields without a key are omitted from the line.
log::Field optionalField(std::string_view key, std::uint64_t number) {
  return {number == 0 ? std::string_view{} : key, number};
}
log::Field optionalField(std::string_view key, std::string_view text) {
  return {text.empty() ? std::string_view{} : key, text};
}
log::Field suppressedLines(std::uint64_t lines) {
  return optionalField("suppressed", lines);
}

}  // namespace

DecisionLog::DecisionLog(bool denials, Clock clock)
    : denials_(denials),
      clock_(std::move(clock)),
      limits_{kDenialRate,      kClientErrorRate, kClientErrorRate, kClientErrorRate,
              kClientErrorRate, kClientErrorRate, kClientErrorRate} {}

std::optional<std::uint64_t> DecisionLog::pass(Class which) {
  const auto now = clock_();
  const std::lock_guard lock{mutex_};
  return limits_[static_cast<std::size_t>(which)].pass(now);
}

void DecisionLog::watch(Observers& observers) {
  if (denials_) {
    observers.denied = [this](const AdmissionRoute& route, const AdmissionOutcome& outcome) {
      denied(route, outcome);
    };
  }
  observers.conversionFailed = [this](const ConversionOutcome& outcome) { conversionFailed(outcome); };
}

ServerEvents DecisionLog::events() {
  ServerEvents events;
  events.handshakeFailed = [this](const HandshakeFailure& failure) { handshakeFailed(failure); };
  events.requestRefused = [this](const RequestRefusal& refusal) { requestRefused(refusal); };
  events.handlerFailed = [this](const HandlerFailure& failure) { handlerFailed(failure); };
  return events;
}

void DecisionLog::denied(const AdmissionRoute& route, const AdmissionOutcome& outcome) {
  if (!log::enabled(log::Level::Info)) return;
  const auto suppressed = pass(Class::Denial);
  if (!suppressed) return;
  const Review& review = *outcome.review;
  kAdmissionLog.info(outcome.readable ? "denied" : "denied: the object cannot be read",
                     {{"uid", review.uid},
                      {"kind", route.kind.kind},
                      {"namespace", review.namespaceName},
                      {"name", review.objectName()},
                      {"operation", review.operation},
                      {"user", review.username},
                      {"path", route.path},
                      optionalField("rules", rulesOf(*outcome.errors)),
                      suppressedLines(*suppressed)});
}

void DecisionLog::conversionFailed(const ConversionOutcome& outcome) {
  const auto suppressed = pass(Class::Conversion);
  if (!suppressed) return;
  kConversionLog.warn("conversion failed",
                      {{"uid", outcome.uid}, {"object", outcome.objects}, suppressedLines(*suppressed)});
}

void DecisionLog::requestRefused(const RequestRefusal& refusal) {
  const auto suppressed = pass(refusal.status == kServiceUnavailable ? Class::Overload : Class::Refusal);
  if (!suppressed) return;
  kHttpLog.warn("request refused", {{"remote", refusal.remote},
                                    optionalField("path", refusal.path),
                                    {"status", refusal.status},
                                    {"reason", refusal.reason},
                                    suppressedLines(*suppressed)});
}

void DecisionLog::handshakeFailed(const HandshakeFailure& failure) {
  const bool distrusted = rejectsCertificate(failure.alert);
  const auto suppressed = pass(distrusted ? Class::Certificate : Class::Handshake);
  if (!suppressed) return;
  kHttpLog.warn("TLS handshake failed", {{"remote", failure.remote},
                                         {"reason", failure.reason},
                                         optionalField("alert", static_cast<std::uint64_t>(failure.alert)),
                                         optionalField("hint", distrusted ? kTrustHint : std::string_view{}),
                                         suppressedLines(*suppressed)});
}

void DecisionLog::handlerFailed(const HandlerFailure& failure) {
  const auto suppressed = pass(Class::Handler);
  if (!suppressed) return;
  kHttpLog.error("handler failed", {{"remote", failure.remote},
                                    {"path", failure.path},
                                    {"exception", failure.exception},
                                    suppressedLines(*suppressed)});
}

}  // namespace dynamo::webhook
