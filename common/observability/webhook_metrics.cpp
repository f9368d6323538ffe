#include "common/observability/webhook_metrics.h"

#include <array>

namespace dynamo::observability {
namespace {

constexpr std::array kValidationBuckets{.001, .005, .01, .025, .05, .1, .25, .5, 1.0, 2.5, 5.0};
/// The buckets of controller-runtime: from 10 ns, each ten times the previous one.
constexpr std::array kLatencyBuckets{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3};
/// Buckets for the service levels of KEP-95 (50 ms for 1 object, 1 s for 1,500, 6 s for 10,000) and the 30 s
/// timeout.
constexpr std::array kConversionBuckets{.0001, .00025, .0005, .001, .0025, .005, .01, .025,
                                        .05,   .1,     .25,   .5,   1.0,   2.5,  6.0, 30.0};

/// Labels in the order of DenialReason.
constexpr std::array<std::string_view, 9> kReasons{"required",      "invalid",   "wrong_type",
                                                   "not_supported", "forbidden", "immutable",
                                                   "duplicate",     "not_found", "size"};

constexpr std::string_view kRouteRequests = "controller_runtime_webhook_requests_total";
constexpr std::string_view kRouteRequestsHelp = "Admission and conversion requests by HTTP status code.";

constexpr std::string_view kDenials = "dynamo_operator_webhook_denials_total";
constexpr std::string_view kDenialsHelp = "Denied validation requests by reason.";
constexpr std::string_view kRules = "dynamo_webhook_rule_denials_total";
constexpr std::string_view kRulesHelp = "Errors in denied objects by rule.";

std::string_view labelOf(DenialReason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

}  // namespace

RouteMetrics::RouteMetrics(Registry& registry, std::string_view path)
    : registry_(&registry),
      path_(path),
      latency_(registry.histogram("controller_runtime_webhook_latency_seconds",
                                  "Latency of admission and conversion requests.", kLatencyBuckets,
                                  {{"webhook", path}})),
      inFlight_(registry.gauge("controller_runtime_webhook_requests_in_flight",
                               "Admission and conversion requests being served.", {{"webhook", path}})),
      ok_(registry.counter(kRouteRequests, kRouteRequestsHelp, {{"webhook", path}, {"code", "200"}})),
      failed_(registry.counter(kRouteRequests, kRouteRequestsHelp, {{"webhook", path}, {"code", "500"}})) {}

void RouteMetrics::finished(int status, double seconds) {
  inFlight_.add(-1);
  latency_.observe(seconds);
  if (status == 200) {
    ok_.increment();
  } else if (status == 500) {
    failed_.increment();
  } else {
    const std::string code = std::to_string(status);
    registry_->counter(kRouteRequests, kRouteRequestsHelp, {{"webhook", path_}, {"code", code}}).increment();
  }
}

AdmissionMetrics::AdmissionMetrics(Registry& registry, std::string_view kind, std::string_view operation)
    : registry_(&registry), kind_(kind), operation_(operation) {
  constexpr std::string_view kName = "dynamo_operator_webhook_requests_total";
  constexpr std::string_view kHelp = "Validation requests by result.";
  duration_ =
      registry.histogram("dynamo_operator_webhook_duration_seconds", "Duration of validation requests.",
                         kValidationBuckets, {{"resource_type", kind}, {"operation", operation}});
  allowed_ = registry.counter(kName, kHelp,
                              {{"resource_type", kind}, {"operation", operation}, {"result", "allowed"}});
  denied_ = registry.counter(kName, kHelp,
                             {{"resource_type", kind}, {"operation", operation}, {"result", "denied"}});
  for (const std::string_view reason : kReasons)
    registry.counter(kDenials, kDenialsHelp,
                     {{"resource_type", kind}, {"operation", operation}, {"reason", reason}});
}

void AdmissionMetrics::allowed(double seconds) {
  duration_.observe(seconds);
  allowed_.increment();
}

void AdmissionMetrics::denied(double seconds, DenialReason reason) {
  duration_.observe(seconds);
  denied_.increment();
  registry_
      ->counter(kDenials, kDenialsHelp,
                {{"resource_type", kind_}, {"operation", operation_}, {"reason", labelOf(reason)}})
      .increment();
}

ConversionMetrics::ConversionMetrics(Registry& registry, std::string_view kind, std::string_view toVersion)
    : objects(registry.counter("dynamo_webhook_conversion_objects_total", "Objects converted.",
                               {{"resource_type", kind}, {"to", toVersion}})),
      failures(registry.counter("dynamo_webhook_conversion_failures_total",
                                "ConversionReviews answered with a failure.",
                                {{"resource_type", kind}, {"to", toVersion}})),
      bytes(registry.counter("dynamo_webhook_conversion_bytes_total", "Bytes of ConversionReview requests.",
                             {{"resource_type", kind}, {"to", toVersion}})),
      seconds(registry.histogram("dynamo_webhook_conversion_duration_seconds",
                                 "Duration of one ConversionReview.", kConversionBuckets,
                                 {{"resource_type", kind}, {"to", toVersion}})) {}

ServerMetrics::ServerMetrics(Registry& registry)
    : draining(registry.gauge("dynamo_webhook_draining", "1 while the server is shutting down.")),
      ready(registry.gauge("dynamo_webhook_ready", "1 while the server reports that it is ready.")),
      panics(registry.counter("controller_runtime_webhook_panics_total",
                              "Admission requests that ended in an unexpected exception.")),
      conversionPanics(registry.counter("controller_runtime_conversion_webhook_panics_total",
                                        "Conversion requests that ended in an unexpected exception.")),
      certificateExpiry(registry.gauge("dynamo_webhook_certificate_expiration_timestamp_seconds",
                                       "End of validity of the served certificate, Unix time.")),
      certificateReads(
          registry.counter("certwatcher_read_certificate_total", "Times the certificate files were read.")),
      certificateReadErrors(registry.counter("certwatcher_read_certificate_errors_total",
                                             "Times the certificate files were invalid.")) {}

Counter RuleMetrics::seriesOf(std::string_view rule) {
  {
    const std::lock_guard lock{mutex_};
    if (seen_.size() >= kMaxRules && !seen_.contains(rule)) rule = "other";
    seen_.emplace(rule);
  }
  return registry_.counter(kRules, kRulesHelp, {{"rule", rule}});
}

void RuleMetrics::add(std::string_view rule) {
  seriesOf(rule);
}

void RuleMetrics::denied(std::string_view rule) {
  seriesOf(rule).increment();
}

void addBuildInfo(Registry& registry, std::string_view component, std::string_view version,
                  std::string_view operatorVersion) {
  registry
      .gauge("dynamo_operator_build_info", "Always 1; the labels contain the versions.",
             {{"component", component}, {"version", version}, {"operator_version", operatorVersion}})
      .set(1);
}

}  // namespace dynamo::observability
