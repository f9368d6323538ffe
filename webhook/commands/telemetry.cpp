#include "webhook/commands/telemetry.h"

#include <map>
#include <mutex>

#include "common/admission/rules.h"
#include "common/api/kinds.h"
#include "common/observability/log.h"
#include "common/observability/webhook_metrics.h"
#include "webhook/version.h"

namespace dynamo::webhook {
namespace {

using observability::DenialReason;
using validation::ErrorType;

DenialReason reasonOf(const AdmissionOutcome& outcome) {
  if (outcome.errors == nullptr || outcome.errors->empty()) return DenialReason::BadRequest;
  const validation::FieldError& first = outcome.errors->front();
  if (admission::isLock(first.rule)) return DenialReason::Immutable;
  switch (first.type) {
    case ErrorType::Required:
      return DenialReason::Required;
    case ErrorType::TypeInvalid:
      return DenialReason::WrongType;
    case ErrorType::NotSupported:
      return DenialReason::NotSupported;
    case ErrorType::Forbidden:
      return DenialReason::Forbidden;
    case ErrorType::Duplicate:
      return DenialReason::Duplicate;
    case ErrorType::NotFound:
      return DenialReason::NotFound;
    case ErrorType::TooLong:
    case ErrorType::TooShort:
    case ErrorType::TooMany:
    case ErrorType::TooFew:
      return DenialReason::Size;
    case ErrorType::Invalid:
      break;
  }
  return DenialReason::Invalid;
}

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE"};

using ByOperation = std::map<std::string_view, observability::AdmissionMetrics>;

}  // namespace

struct Telemetry::State {
  explicit State(const std::string& operatorVersion)
      : server(registry), rules(registry), conversion(registry, api::kDynamoGraphDeploymentRequest, "any") {
    observability::addBuildInfo(registry, "webhook", kVersion, operatorVersion);
    for (const AdmissionRoute& entry : admissionRoutes()) {
      routes.emplace(entry.path, observability::RouteMetrics{registry, entry.path});
      if (entry.role != Role::Validate) continue;
      for (const std::string_view operation : kOperations) {
        validators[&entry].emplace(operation,
                                   observability::AdmissionMetrics{registry, entry.kind.kind, operation});
      }
    }
    routes.emplace(kConvertPath, observability::RouteMetrics{registry, kConvertPath});
  }

  void admission(const AdmissionRoute& entry, const AdmissionOutcome& outcome, double seconds) {
    const auto validator = validators.find(&entry);
    if (validator == validators.end()) return;
    const auto counted = validator->second.find(outcome.operation);
    if (counted == validator->second.end()) return;
    if (outcome.allowed) {
      counted->second.allowed(seconds);
      return;
    }
    counted->second.denied(seconds, reasonOf(outcome));
    for (const validation::FieldError& error : *outcome.errors) rules.denied(error.rule);
  }

  void finished(std::string_view path, const RequestEnd& end) {
    observability::RouteMetrics& route = routes.at(path);
    if (end.own) return route.dropped();
    route.finished(end.status, end.seconds);
    if (end.threw) (path == kConvertPath ? server.conversionPanics : server.panics).increment();
  }

  observability::Registry registry;
  observability::ServerMetrics server;
  observability::RuleMetrics rules;
  observability::ConversionMetrics conversion;
  std::map<const AdmissionRoute*, ByOperation> validators;
  std::map<std::string_view, observability::RouteMetrics> routes;
  std::mutex pageMutex;
  ServerMetrics seen;  ///< totals already counted; guarded by pageMutex
};

Telemetry::Telemetry(const std::string& operatorVersion) : state_(std::make_unique<State>(operatorVersion)) {}
Telemetry::~Telemetry() = default;

Observers Telemetry::observers() {
  Observers observers;
  State& state = *state_;
  observers.admission = [&state](const AdmissionRoute& entry, const AdmissionOutcome& outcome,
                                 double seconds) { state.admission(entry, outcome, seconds); };
  observers.conversion = [&state](const ConversionOutcome& outcome, double seconds) {
    state.conversion.objects.increment(static_cast<double>(outcome.objects));
    state.conversion.bytes.increment(static_cast<double>(outcome.bytes));
    state.conversion.seconds.observe(seconds);
    if (outcome.failed) state.conversion.failures.increment();
  };
  observers.started = [&state](std::string_view path) { state.routes.at(path).started(); };
  observers.finished = [&state](std::string_view path, const RequestEnd& end) { state.finished(path, end); };
  return observers;
}

void Telemetry::certificateRead(bool ok) {
  state_->server.certificateReads.increment();
  if (!ok) state_->server.certificateReadErrors.increment();
}
void Telemetry::certificateExpiry(double unixSeconds) {
  state_->server.certificateExpiry.set(unixSeconds);
}
void Telemetry::draining() {
  state_->server.draining.set(1);
}
void Telemetry::ready(bool value) {
  state_->server.ready.set(value ? 1 : 0);
}

Reply Telemetry::page(const ServerMetrics& now) {
  const std::lock_guard lock{state_->pageMutex};
  observability::ServerMetrics& metrics = state_->server;
  ServerMetrics& seen = state_->seen;
  const auto advance = [](observability::Counter& counter, std::uint64_t total, std::uint64_t before) {
    if (total > before) counter.increment(static_cast<double>(total - before));
  };
  metrics.connections.set(static_cast<double>(now.connectionsOpen));
  metrics.bytesInFlight.set(static_cast<double>(now.bodyBytes));
  advance(metrics.connectionsAccepted, now.connectionsAccepted, seen.connectionsAccepted);
  advance(metrics.connectionsRefused, now.connectionsRefused, seen.connectionsRefused);
  advance(metrics.connectionsEvicted, now.connectionsEvicted, seen.connectionsEvicted);
  advance(metrics.handshakeFailures, now.handshakesFailed, seen.handshakesFailed);
  advance(metrics.requestsRefused, now.requestsRefused, seen.requestsRefused);
  seen = now;
  return {200, std::string{observability::kTextFormat}, state_->registry.render()};
}

}  // namespace dynamo::webhook
