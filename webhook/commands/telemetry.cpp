#include "webhook/commands/telemetry.h"

#include <iterator>
#include <map>
#include <mutex>
#include <vector>

#include "common/admission/rules.h"
#include "common/api/kinds.h"
#include "common/observability/log.h"
#include "common/observability/webhook_metrics.h"
#include "webhook/version.h"

namespace dynamo::webhook {
namespace {

using field::ErrorType;
using observability::DenialReason;

DenialReason reasonOf(const field::FieldError& first) {
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
    case ErrorType::TooMany:
      return DenialReason::Size;
    case ErrorType::Invalid:
      break;
  }
  return DenialReason::Invalid;
}

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE"};

using ByOperation = std::map<std::string_view, observability::AdmissionMetrics>;

/// What the HTTPS server counts, by name.
struct Figure {
  std::uint64_t ServerMetrics::*value;
  std::string_view name;
  std::string_view help;
};
constexpr Figure kTotals[] = {
    {&ServerMetrics::connectionsAccepted, "dynamo_webhook_connections_accepted_total",
     "Connections accepted."},
    {&ServerMetrics::connectionsRefused, "dynamo_webhook_connections_refused_total",
     "Connections closed at once: too many were open, or no certificate or file descriptor was there."},
    {&ServerMetrics::connectionsEvicted, "dynamo_webhook_connections_evicted_total",
     "Unused, slow or idle connections closed to make room for new ones."},
    {&ServerMetrics::handshakesFailed, "dynamo_webhook_tls_handshake_failures_total",
     "TLS handshakes that failed."},
    {&ServerMetrics::requestsRefused, "dynamo_webhook_requests_refused_total",
     "Requests refused for their form, or for lack of room."},
    {&ServerMetrics::timeouts, "dynamo_webhook_request_timeouts_total",
     "Requests cut because head, body or reply went too slowly, or no worker was free in time."},
    {&ServerMetrics::connectionsFailed, "dynamo_webhook_connections_failed_total",
     "Connections ended by an exception of the server."},
};
constexpr Figure kNow[] = {
    {&ServerMetrics::connectionsOpen, "dynamo_webhook_connections", "Open connections."},
    {&ServerMetrics::bodyBytes, "dynamo_webhook_bytes_in_flight", "Bytes of request bodies held."},
    {&ServerMetrics::replyBytes, "dynamo_webhook_reply_bytes_in_flight",
     "Bytes of larger replies that clients have not taken yet."},
    {&ServerMetrics::requestsQueued, "dynamo_webhook_requests_queued", "Requests that wait for a worker."},
};

}  // namespace

struct Telemetry::State {
  explicit State(const std::string& operatorVersion)
      : server(registry), rules(registry), conversion(registry, api::kDynamoGraphDeploymentRequest, "any") {
    for (const Figure& figure : kTotals) totals.push_back(registry.counter(figure.name, figure.help));
    for (const Figure& figure : kNow) now.push_back(registry.gauge(figure.name, figure.help));
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
    counted->second.denied(seconds, reasonOf(outcome.errors->front()));
    for (const field::FieldError& error : *outcome.errors) rules.denied(error.rule);
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
  std::vector<observability::Counter> totals;  ///< of kTotals
  std::vector<observability::Gauge> now;       ///< of kNow
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

runtime::Page Telemetry::page(const ServerMetrics& now) {
  const std::lock_guard lock{state_->pageMutex};
  for (std::size_t i = 0; i < std::size(kTotals); ++i) {
    const std::uint64_t total = now.*kTotals[i].value;
    const std::uint64_t before = state_->seen.*kTotals[i].value;
    if (total > before) state_->totals[i].increment(static_cast<double>(total - before));
  }
  for (std::size_t i = 0; i < std::size(kNow); ++i) {
    state_->now[i].set(static_cast<double>(now.*kNow[i].value));
  }
  state_->seen = now;
  return {200, std::string{observability::kTextFormat}, state_->registry.render()};
}

}  // namespace dynamo::webhook
