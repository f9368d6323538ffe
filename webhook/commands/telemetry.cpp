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

/// A metric of the HTTPS server and its counter.
struct ServerMetric {
  std::uint64_t ServerMetrics::*value;
  std::string_view name;
  std::string_view help;
};
constexpr ServerMetric kCounters[] = {
    {&ServerMetrics::connectionsAccepted, "dynamo_webhook_connections_accepted_total",
     "Connections accepted."},
    {&ServerMetrics::connectionsRefused, "dynamo_webhook_connections_refused_total",
     "Connections closed at once because too many were open or no certificate or file descriptor was "
     "available."},
    {&ServerMetrics::connectionsEvicted, "dynamo_webhook_connections_evicted_total",
     "Unused, slow or idle connections closed to make room for new ones."},
    {&ServerMetrics::handshakesFailed, "dynamo_webhook_tls_handshake_failures_total",
     "TLS handshakes that failed."},
    {&ServerMetrics::requestsRefused, "dynamo_webhook_requests_refused_total",
     "Requests refused because they were malformed or a limit was reached."},
    {&ServerMetrics::timeouts, "dynamo_webhook_request_timeouts_total",
     "Requests ended because head, body or reply was too slow or no worker was free in time."},
    {&ServerMetrics::connectionsFailed, "dynamo_webhook_connections_failed_total",
     "Connections ended by an exception in the server."},
};
constexpr ServerMetric kGauges[] = {
    {&ServerMetrics::connectionsOpen, "dynamo_webhook_connections", "Open connections."},
    {&ServerMetrics::bodyBytes, "dynamo_webhook_bytes_in_flight", "Bytes of request bodies held."},
    {&ServerMetrics::replyBytes, "dynamo_webhook_reply_bytes_in_flight",
     "Bytes of large replies that clients have not received yet."},
    {&ServerMetrics::requestsQueued, "dynamo_webhook_requests_queued", "Requests waiting for a worker."},
};

}  // namespace

struct Telemetry::State {
  explicit State(const std::string& operatorVersion)
      : server(registry), rules(registry), conversion(registry, api::kDynamoGraphDeploymentRequest, "any") {
    for (const ServerMetric& figure : kCounters) totals.push_back(registry.counter(figure.name, figure.help));
    for (const ServerMetric& figure : kGauges) now.push_back(registry.gauge(figure.name, figure.help));
    observability::addBuildInfo(registry, "webhook", kVersion, operatorVersion);
    for (const admission::RuleGroup& group : admission::ruleGroups()) {
      for (const field::Rule& rule : group.rules) {
        if (rule.severity != field::Severity::Warning) rules.add(rule.id);
      }
    }
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
    if (end.selfCheck) return route.dropped();
    route.finished(end.status, end.seconds);
    if (end.threw) (path == kConvertPath ? server.conversionPanics : server.panics).increment();
  }

  observability::Registry registry;
  observability::ServerMetrics server;
  observability::RuleMetrics rules;
  observability::ConversionMetrics conversion;
  std::map<const AdmissionRoute*, ByOperation> validators;
  std::map<std::string_view, observability::RouteMetrics> routes;
  std::vector<observability::Counter> totals;  ///< of kCounters
  std::vector<observability::Gauge> now;       ///< of kGauges
  std::mutex pageMutex;
  ServerMetrics seen;  ///< totals already added to the counters; guarded by pageMutex
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
  for (std::size_t i = 0; i < std::size(kCounters); ++i) {
    const std::uint64_t total = now.*kCounters[i].value;
    const std::uint64_t before = state_->seen.*kCounters[i].value;
    if (total > before) state_->totals[i].increment(static_cast<double>(total - before));
  }
  for (std::size_t i = 0; i < std::size(kGauges); ++i) {
    state_->now[i].set(static_cast<double>(now.*kGauges[i].value));
  }
  state_->seen = now;
  return {200, std::string{observability::kTextFormat}, state_->registry.render()};
}

}  // namespace dynamo::webhook
