// Tolerations and topology spread.

#include <fmt/format.h>

#include <utility>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

void toleration(const Reports& report, const Value& toleration, const At& at) {
  const std::string_view key = json::findText(&toleration, "key");
  const std::string_view effect = json::findText(&toleration, "effect");
  const std::string_view value = json::findText(&toleration, "value");
  const std::string_view comparison = json::findText(&toleration, "operator");
  if (!key.empty()) report(id::kToleration).check(at / "key", key, k8s::qualifiedNameProblem(key));
  oneOf(report(id::kToleration), at / "operator", comparison, {"Equal", "Exists"});
  if (key.empty() && comparison != "Exists") {
    report(id::kToleration)
        .invalid(at / "operator", comparison, "must be Exists when key is empty, which matches all taints");
  }
  if (comparison == "Exists" && !value.empty()) {
    report(id::kToleration).invalid(at / "value", value, "must be empty when operator is Exists");
  } else if (comparison != "Exists") {
    report(id::kToleration).check(at / "value", value, k8s::labelValueProblem(value));
  }
  oneOf(report(id::kToleration), at / "effect", effect, {"NoExecute", "NoSchedule", "PreferNoSchedule"});
  if (integer(json::find(toleration, "tolerationSeconds")) && effect != "NoExecute") {
    report(id::kToleration).invalid(at / "effect", effect, "must be NoExecute when tolerationSeconds is set");
  }
}

void constraint(const Reports& report, const Value& constraint, const At& at) {
  const Value* skew = json::find(constraint, "maxSkew");
  const auto maxSkew = integer(skew);
  if (skew == nullptr) {
    report(id::kSpread).required(at / "maxSkew");
  } else if (maxSkew && *maxSkew <= 0) {
    report(id::kSpread).invalid(at / "maxSkew", *skew, "must be greater than zero");
  }
  const std::string_view key = json::findText(&constraint, "topologyKey");
  if (key.empty()) {
    report(id::kSpread).required(at / "topologyKey");
  } else if (!k8s::qualifiedNameProblem(key).empty()) {
    report(id::kSpreadKey)
        .warn(at / "topologyKey",
              fmt::format("{} is not a valid label key; no node has it", field::showValue(key)));
  }
  const std::string_view action = json::findText(&constraint, "whenUnsatisfiable");
  if (action.empty()) report(id::kSpread).required(at / "whenUnsatisfiable");
  oneOf(report(id::kSpread), at / "whenUnsatisfiable", action, {"DoNotSchedule", "ScheduleAnyway"});

  const Value* domains = json::find(constraint, "minDomains");
  const auto minDomains = integer(domains);
  if (minDomains && *minDomains <= 0) {
    report(id::kSpread).invalid(at / "minDomains", *domains, "must be greater than zero");
  }
  if (minDomains && action != "DoNotSchedule") {
    report(id::kSpread)
        .invalid(at / "minDomains", *domains, "may only be set when whenUnsatisfiable is DoNotSchedule");
  }
  for (const std::string_view field : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    oneOfGiven(report(id::kSpread), at / field, json::find(constraint, field), {"Honor", "Ignore"});
  }
  matchLabelKeys(report, constraint, at);
  labelSelector(report, json::findObject(&constraint, "labelSelector"), at / "labelSelector");
}

}  // namespace

void tolerations(const Reports& report, const Value* list, const At& at) {
  forEach(list, at, [&](const Value& one, const At& place) { toleration(report, one, place); });
}

void topologySpread(const Reports& report, const Value* list, const At& at) {
  Seen<std::pair<std::string_view, std::string_view>> seen;
  forEach(list, at, [&](const Value& one, const At& place) {
    constraint(report, one, place);
    const std::string_view key = json::findText(&one, "topologyKey");
    const std::string_view action = json::findText(&one, "whenUnsatisfiable");
    if (!seen.add({key, action})) {
      report(id::kSpread).duplicate(place, fmt::format("{}, {}", key, action));
    }
  });
}

}  // namespace dynamo::rules::pod
