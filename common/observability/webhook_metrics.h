#pragma once
// The metrics of the webhook: those of the reference (dynamo_operator_*), those of controller-runtime that
// existing dashboards use, and additional ones (dynamo_webhook_*).

#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "common/observability/metrics.h"

namespace dynamo::observability {

/// The reason label of a denial, by the first error (adm-Q18).
enum class DenialReason {
  Required,      ///< "required": a field is missing
  Invalid,       ///< "invalid": a value violates a rule
  WrongType,     ///< "wrong_type"
  NotSupported,  ///< "not_supported": not one of the allowed values
  Forbidden,     ///< "forbidden": not allowed here, or not by this user
  Immutable,     ///< "immutable": may not be changed, or not now
  Duplicate,     ///< "duplicate"
  NotFound,      ///< "not_found": refers to something that does not exist
  Size,          ///< "size": too long, too many
};

/// The metrics of a path, with controller-runtime's names. Copies share the series.
class RouteMetrics {
 public:
  RouteMetrics(Registry& registry, std::string_view path);

  void started() { inFlight_.add(1); }
  /// `status` is the HTTP status of the answer.
  void finished(int status, double seconds);
  /// The request ended and is not counted.
  void dropped() { inFlight_.add(-1); }

 private:
  Registry* registry_;
  std::string path_;
  Histogram latency_;
  Gauge inFlight_;
  Counter ok_;
  Counter failed_;
};

/// Validation requests of one kind and one operation ("CREATE", "UPDATE", "DELETE"). As in the reference,
/// defaulting requests, reviews with unreadable objects (answered with 400) and panics are not counted.
/// All series exist from the start, because the rate of a series that appears with its first denial is 0.
class AdmissionMetrics {
 public:
  AdmissionMetrics(Registry& registry, std::string_view kind, std::string_view operation);

  void allowed(double seconds);
  void denied(double seconds, DenialReason reason);

 private:
  Registry* registry_;
  std::string kind_;
  std::string operation_;
  Histogram duration_;
  Counter allowed_;
  Counter denied_;
};

/// Conversions of one kind to one version.
struct ConversionMetrics {
  ConversionMetrics(Registry& registry, std::string_view kind, std::string_view toVersion);

  Counter objects;
  Counter failures;   ///< reviews answered with a failure
  Counter bytes;      ///< bytes of requests
  Histogram seconds;  ///< duration of a review
};

/// The state of the server. All values start at 0.
struct ServerMetrics {
  explicit ServerMetrics(Registry& registry);

  Gauge draining;  ///< 1 from SIGTERM on
  Gauge ready;     ///< 1 while /readyz succeeds
  Counter panics;  ///< unexpected exceptions in handlers
  Counter conversionPanics;
  Gauge certificateExpiry;  ///< notAfter of the served certificate, Unix time
  Counter certificateReads;
  Counter certificateReadErrors;
};

/// Denials by rule id. The set of rules is fixed; the limit only protects Prometheus from a programming
/// error.
class RuleMetrics {
 public:
  static constexpr std::size_t kMaxRules = 512;

  explicit RuleMetrics(Registry& registry) : registry_(registry) {}
  /// Creates the series of a rule that has denied nothing.
  void add(std::string_view rule);
  /// Looks up the series, so it is slower than the other functions. Thread-safe.
  void denied(std::string_view rule);

 private:
  Counter seriesOf(std::string_view rule);

  Registry& registry_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> seen_;
};

/// `dynamo_operator_build_info{component,version,operator_version}` = 1.
void addBuildInfo(Registry& registry, std::string_view component, std::string_view version,
                  std::string_view operatorVersion);

}  // namespace dynamo::observability
