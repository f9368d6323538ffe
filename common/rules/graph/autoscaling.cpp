// Rules of the deprecated `autoscaling` of services (dec-3). The limits are those of the API server for a
// HorizontalPodAutoscaler.

#include <fmt/format.h>

#include "common/model/scaling.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// A graph's `autoscaling` that has an effect; nullptr: it is ignored.
const Value* effective(const Service& service) {
  if (!service.graph.isGraph) return nullptr;
  return model::enabledAutoscaling(service.spec, service.graph.policy.honoursAutoscaling);
}

/// Whether there is a metric that exists without pods, so that the last pod may be removed.
bool hasMetricWithoutPods(const Value& autoscaling) {
  bool found = false;
  forEachObject(json::find(autoscaling, "metrics"), [&](const Value& metric, std::size_t) {
    const std::string_view type = json::findText(&metric, "type");
    found = found || type == "Object" || type == "External";
  });
  return found;
}

void replicas(const Service& service, const Report& report) {
  const Value* autoscaling = effective(service);
  if (autoscaling == nullptr) return;
  const At least = service.at("autoscaling.minReplicas");
  const At most = service.at("autoscaling.maxReplicas");
  const Value* min = json::find(*autoscaling, "minReplicas");
  const Value* max = json::find(*autoscaling, "maxReplicas");
  const long long lowest = integerAt(autoscaling, "minReplicas").value_or(1);
  if (lowest < 0) {
    report.invalid(least, *min, "must be greater than or equal to 0");
  } else if (lowest == 0 && !hasMetricWithoutPods(*autoscaling)) {
    report.invalid(least, *min, "must be greater than 0 unless a metric has type Object or External");
  }
  if (max == nullptr) return report.required(most, "must be set when autoscaling is enabled");
  const auto highest = integerAt(autoscaling, "maxReplicas");
  if (!highest) return;  // of another type, which the schema reports
  if (*highest < 1) {
    report.invalid(most, *max, "must be greater than 0");
  } else if (*highest < lowest) {
    report.invalid(most, *max,
                   fmt::format("must be greater than or equal to minReplicas, which is {}", lowest));
  }
}

constexpr std::array kChecks = {
    ServiceCheck{
        {"service.autoscaling-replicas", Severity::Error,
         "with compatibility.autoscaling, enabled autoscaling has valid minReplicas and maxReplicas"},
        replicas},
};

void deprecated(const Service& service, const Report& report) {
  if (service.member("autoscaling") == nullptr) return;
  const At at = service.at("autoscaling");
  if (!service.graph.isGraph || !service.graph.policy.honoursAutoscaling) {
    return report.warn(at, "is deprecated and ignored: use scalingAdapter");
  }
  report.warn(
      at,
      effective(service) == nullptr
          ? "is deprecated and has no effect because it is not enabled: use scalingAdapter"
          : "is deprecated: the operator creates a HorizontalPodAutoscaler; use scalingAdapter and your own");
}

constexpr std::array kRemarks = {
    ServiceCheck{{"service.autoscaling", Severity::Warning, "autoscaling is deprecated"}, deprecated},
};

}  // namespace

std::span<const ServiceCheck> autoscalingChecks() {
  return kChecks;
}

std::span<const ServiceCheck> autoscalingRemarks() {
  return kRemarks;
}

}  // namespace dynamo::rules
