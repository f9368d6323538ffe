// Tolerations and topology spread.

#include <fmt/format.h>

#include <utility>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void toleration(const Report& report, const Value& toleration, const At& at) {
  const std::string_view key = json::findText(&toleration, "key");
  const std::string_view effect = json::findText(&toleration, "effect");
  const std::string_view value = json::findText(&toleration, "value");
  const std::string_view comparison = json::findText(&toleration, "operator");
  if (!key.empty()) report.check(at / "key", key, k8s::qualifiedNameProblem(key), id::kToleration);
  report.oneOf(at / "operator", comparison, {"Equal", "Exists"}, id::kToleration);
  if (key.empty() && comparison != "Exists") {
    report.invalid(at / "operator", comparison, "must be Exists when key is empty, which means all taints",
                   id::kToleration);
  }
  if (comparison == "Exists" && !value.empty()) {
    report.invalid(at / "value", value, "must be empty when operator is Exists", id::kToleration);
  } else if (comparison != "Exists") {
    report.check(at / "value", value, k8s::labelValueProblem(value), id::kToleration);
  }
  report.oneOf(at / "effect", effect, {"NoExecute", "NoSchedule", "PreferNoSchedule"}, id::kToleration);
  if (integer(json::find(toleration, "tolerationSeconds")) && effect != "NoExecute") {
    report.invalid(at / "effect", effect, "must be NoExecute when tolerationSeconds is set", id::kToleration);
  }
}

void constraint(const Report& report, const Value& constraint, const At& at) {
  const Value* skew = json::find(constraint, "maxSkew");
  const auto maxSkew = integer(skew);
  if (skew == nullptr) {
    report.required(at / "maxSkew", id::kSpread);
  } else if (maxSkew && *maxSkew <= 0) {
    report.invalid(at / "maxSkew", *skew, "must be greater than zero", id::kSpread);
  }
  const std::string_view key = json::findText(&constraint, "topologyKey");
  if (key.empty()) {
    report.required(at / "topologyKey", id::kSpread);
  } else if (!k8s::qualifiedNameProblem(key).empty()) {
    report.warn(at / "topologyKey",
                fmt::format("{} is not a valid label key; no node has it", field::showValue(key)),
                id::kSpreadKey);
  }
  const std::string_view action = json::findText(&constraint, "whenUnsatisfiable");
  if (action.empty()) report.required(at / "whenUnsatisfiable", id::kSpread);
  report.oneOf(at / "whenUnsatisfiable", action, {"DoNotSchedule", "ScheduleAnyway"}, id::kSpread);

  const Value* domains = json::find(constraint, "minDomains");
  const auto minDomains = integer(domains);
  if (minDomains && *minDomains <= 0) {
    report.invalid(at / "minDomains", *domains, "must be greater than zero", id::kSpread);
  }
  if (minDomains && action != "DoNotSchedule") {
    report.invalid(at / "minDomains", *domains, "needs whenUnsatisfiable DoNotSchedule", id::kSpread);
  }
  for (const std::string_view field : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    report.oneOfGiven(at / field, json::find(constraint, field), {"Honor", "Ignore"}, id::kSpread);
  }
  matchLabelKeys(report, constraint, at);
  labelSelector(report, json::findObject(&constraint, "labelSelector"), at / "labelSelector");
}

}  // namespace

void tolerations(const Report& report, const Value* list, const At& at) {
  forEach(list, at, [&](const Value& one, const At& place) { toleration(report, one, place); });
}

void topologySpread(const Report& report, const Value* list, const At& at) {
  Seen<std::pair<std::string_view, std::string_view>> seen;
  forEach(list, at, [&](const Value& one, const At& place) {
    constraint(report, one, place);
    const std::string_view key = json::findText(&one, "topologyKey");
    const std::string_view action = json::findText(&one, "whenUnsatisfiable");
    if (!seen.add({key, action})) {
      report.duplicate(place, fmt::format("{}, {}", key, action), id::kSpread);
    }
  });
}

}  // namespace dynamo::rules::pod
