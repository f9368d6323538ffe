#include "common/rules/graph/deployment_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "common/api/dynamo.h"
#include "common/api/min_ready.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array<std::string_view, 2> kStrategies = {"RollingUpdate", "Recreate"};

/// The annotation of the pods, or else of the service. Sets `field` to its path.
const Value* effectiveAnnotation(const Service& service, std::string_view key, Path& field) {
  const Value* ofPods = json::findObject(json::findObject(&service.spec, "extraPodMetadata"), "annotations");
  for (const bool pods : {true, false}) {
    const Value* value = json::find(pods ? ofPods : service.annotations(), key);
    if (value == nullptr) continue;
    const At annotations = pods ? service.at("extraPodMetadata.annotations") : service.at("annotations");
    field = annotations.key(key).path();
    return value;
  }
  return nullptr;
}

/// A number of pods or a percentage of the replicas; nullopt for other text.
std::optional<long long> amount(std::string_view text) {
  // Go parses a number with a sign, and the Deployment gets the number. A percentage may not have a sign.
  const bool sign = text.starts_with('+');
  if (sign) text.remove_prefix(1);
  if (sign && (text.starts_with('-') || text.ends_with('%'))) return std::nullopt;
  long long number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest{parsed.ptr, static_cast<std::size_t>(text.data() + text.size() - parsed.ptr)};
  const bool good = parsed.ec == std::errc{} && number >= 0 && number <= std::numeric_limits<int>::max() &&
                    (rest.empty() || rest == "%");
  return good ? std::optional{number} : std::nullopt;
}

bool isRecreated(const Service& service) {
  return json::findText(service.annotations(), api::annotation::kDeploymentStrategy) == "Recreate";
}

/// LeaderWorkerSets and Grove do not read the annotations of rolling updates.
bool hasRollingUpdates(const Service& service) {
  return !service.multinode() && !isRecreated(service);
}

/// Where Grove may run the pods, a mistake is only a warning.
void reportProblem(const Service& service, const Report& report, const At& at, std::string_view text,
                   std::string_view problem) {
  if (!service.graph.withoutGrove()) {
    report.warn(at, fmt::format("without Grove: {}", problem));
  } else if (text.empty()) {
    report.refused(at, std::string{problem});
  } else {
    report.invalid(at, text, std::string{problem});
  }
}

}  // namespace

void rollingUpdate(const Service& service, const Report& report) {
  if (!hasRollingUpdates(service)) return;
  const auto reportAt = [&](const At& at, std::string_view text, std::string_view problem) {
    reportProblem(service, report, at, text, problem);
  };
  bool zero = true;
  Path field;
  for (const std::string_view key : {api::annotation::kMaxSurge, api::annotation::kMaxUnavailable}) {
    const Value* value = effectiveAnnotation(service, key, field);
    const std::string_view text = value == nullptr ? std::string_view{} : json::text(*value);
    if (text.empty()) {
      zero = false;
      continue;
    }
    const std::optional<long long> given = amount(text);
    if (!given) {
      reportAt(field, text, "must be a number of pods or a percentage, such as 1 or 25%");
    } else if (key == api::annotation::kMaxUnavailable && text.ends_with('%') && *given > 100) {
      reportAt(field, text, "must be at most 100%");
    }
    zero = zero && given == 0;
  }
  if (zero) reportAt(field, {}, "may not be 0 when max-surge is 0");
}

void minReadySeconds(const Service& service, const Report& report) {
  Path field;
  const Value* value = effectiveAnnotation(service, api::annotation::kMinReadySeconds, field);
  if (value == nullptr || !hasRollingUpdates(service)) return;
  const std::string_view text = json::text(*value);
  if (text.empty() || api::minReadySeconds(text)) return;
  reportProblem(service, report, field, text, api::kMinReadyProblem);
}

void deploymentStrategy(const Service& service, const Report& report) {
  const std::string_view text = json::findText(service.annotations(), api::annotation::kDeploymentStrategy);
  if (text.empty() || std::find(kStrategies.begin(), kStrategies.end(), text) != kStrategies.end()) return;
  const At annotations = service.at("annotations");
  report.warn(annotations.key(api::annotation::kDeploymentStrategy),
              "is neither RollingUpdate nor Recreate: RollingUpdate is used");
}

}  // namespace dynamo::rules
