// Node and pod affinity, label selectors.

#include <fmt/format.h>

#include <algorithm>

#include "common/json/ascii.h"
#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

std::size_t sizeOf(const Value* list) {
  return list != nullptr && list->IsArray() ? list->Size() : 0;
}

enum class Values { AtLeastOne, None, One };

struct Operator {
  std::string_view name;
  Values values;
  bool ofNodesOnly;
};

constexpr Operator kOperators[] = {
    {"In", Values::AtLeastOne, false}, {"NotIn", Values::AtLeastOne, false},
    {"Exists", Values::None, false},   {"DoesNotExist", Values::None, false},
    {"Gt", Values::One, true},         {"Lt", Values::One, true},
};

/// The operator of an expression, checked with the number of its values.
const Operator* operatorOf(const Reports& report, const Value& expression, const At& at, bool ofNodes,
                           std::string_view rule) {
  const std::string_view name = json::findText(&expression, "operator");
  const Value* values = json::find(expression, "values");
  const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& known) {
    return known.name == name && (ofNodes || !known.ofNodesOnly);
  });
  if (name.empty()) {
    report(rule).required(at / "operator");
    return nullptr;
  }
  if (found == std::end(kOperators)) {
    if (ofNodes) {
      oneOf(report(rule), at / "operator", name, {"DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"});
    } else {
      oneOf(report(rule), at / "operator", name, {"DoesNotExist", "Exists", "In", "NotIn"});
    }
    return nullptr;
  }
  if (found->values == Values::AtLeastOne && sizeOf(values) == 0) {
    report(rule).required(at / "values", fmt::format("must be specified when operator is {}", name));
  } else if (found->values == Values::One && sizeOf(values) != 1) {
    report(rule).required(at / "values", fmt::format("must be exactly one value when operator is {}", name));
  } else if (found->values == Values::None && sizeOf(values) > 0) {
    report(rule).forbidden(at / "values", fmt::format("may not be specified when operator is {}", name));
  }
  return found;
}

void labelKey(const Reports& report, const Value& expression, const At& at, std::string_view rule) {
  const std::string_view key = json::findText(&expression, "key");
  if (key.empty()) return report(rule).required(at);
  report(rule).check(at, key, k8s::qualifiedNameProblem(key));
}

bool isInteger(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), json::isDigit);
}

/// The node affinity that a term belongs to.
struct Terms {
  const At& affinity;  ///< where warnings are reported: they are too short for the path of a value
  bool required;       ///< the API server accepts any value in preferences
};

void nodeValue(const Reports& report, std::string_view value, bool integer, const At& at,
               const Terms& terms) {
  const std::string problem = k8s::labelValueProblem(value);
  if (!problem.empty() && terms.required) {
    report(id::kNodeAffinity).invalid(at, value, problem);
  } else if (!problem.empty() || (integer && !isInteger(value))) {
    report(id::kNodeAffinityDoubtful)
        .warn(terms.affinity, fmt::format("{} matches no node{}", field::showValue(value),
                                          problem.empty() ? ": not an integer" : "'s label"));
  }
}

void nodeExpression(const Reports& report, const Value& expression, const At& at, const Terms& terms) {
  const Operator* known = operatorOf(report, expression, at, true, id::kNodeAffinity);
  const bool integer = known != nullptr && known->values == Values::One;
  labelKey(report, expression, at / "key", id::kNodeAffinity);
  const At values = at / "values";
  forEachText(json::find(expression, "values"), values, [&](std::string_view value, const At& place) {
    nodeValue(report, value, integer, place, terms);
  });
}

void nodeField(const Reports& report, const Value& field, const At& at) {
  const std::string_view key = json::findText(&field, "key");
  if (key.empty()) report(id::kNodeAffinity).required(at / "key");
  oneOf(report(id::kNodeAffinity), at / "key", key, {"metadata.name"});
  const std::string_view comparison = json::findText(&field, "operator");
  if (comparison.empty()) report(id::kNodeAffinity).required(at / "operator");
  oneOf(report(id::kNodeAffinity), at / "operator", comparison, {"In", "NotIn"});
  const Value* values = json::find(field, "values");
  const At valuesAt = at / "values";
  const bool one = comparison == "In" || comparison == "NotIn";
  if (one && sizeOf(values) != 1) report(id::kNodeAffinity).required(valuesAt, "must be exactly one value");
  if (key != "metadata.name") return;
  forEachText(values, valuesAt, [&](std::string_view value, const At& place) {
    report(id::kNodeAffinity).check(place, value, k8s::dns1123SubdomainProblem(value));
  });
}

void nodeTerm(const Reports& report, const Value* term, const At& at, const Terms& terms) {
  forEach(json::find(term, "matchExpressions"), at / "matchExpressions",
          [&](const Value& one, const At& place) { nodeExpression(report, one, place, terms); });
  forEach(json::find(term, "matchFields"), at / "matchFields",
          [&](const Value& one, const At& place) { nodeField(report, one, place); });
}

void weight(const Reports& report, const Value& term, const At& at, std::string_view rule) {
  const Value* given = json::find(term, "weight");
  if (given == nullptr) return report(rule).required(at, "must be between 1 and 100, inclusive");
  const auto number = integer(given);
  if (number && (*number < 1 || *number > 100)) {
    report(rule).invalid(at, *given, "must be between 1 and 100, inclusive");
  }
}

void nodeAffinity(const Reports& report, const Value* affinity, const At& at) {
  if (affinity == nullptr) return;
  if (const Value* required = json::findObject(affinity, kRequired)) {
    const At requiredAt = at / kRequired;
    const At termsAt = requiredAt / "nodeSelectorTerms";
    const Value* terms = json::find(*required, "nodeSelectorTerms");
    if (sizeOf(terms) == 0)
      report(id::kNodeAffinity).required(termsAt, "must have at least one node selector term");
    forEach(terms, termsAt, [&](const Value& one, const At& place) {
      nodeTerm(report, &one, place, {at, true});
    });
  }
  forEach(json::find(affinity, kPreferred), at / kPreferred, [&](const Value& one, const At& place) {
    weight(report, one, place / "weight", id::kNodeAffinity);
    nodeTerm(report, json::findObject(&one, "preference"), place / "preference", {at, false});
  });
}

void podTerm(const Reports& report, const Value& term, const At& at) {
  const std::string_view key = json::findText(&term, "topologyKey");
  if (key.empty()) {
    report(id::kPodAffinity).required(at / "topologyKey");
  } else {
    report(id::kPodAffinity).check(at / "topologyKey", key, k8s::qualifiedNameProblem(key));
  }
  labelSelector(report, json::findObject(&term, "labelSelector"), at / "labelSelector");
  labelSelector(report, json::findObject(&term, "namespaceSelector"), at / "namespaceSelector");
  forEachText(json::find(term, "namespaces"), at / "namespaces", [&](std::string_view name, const At& place) {
    report(id::kPodAffinity).check(place, name, k8s::dns1123LabelProblem(name));
  });
  matchLabelKeys(report, term, at);
  for (const std::string_view field : {"matchLabelKeys", "mismatchLabelKeys"}) {
    if (sizeOf(json::find(term, field)) > 0) needsVersion(report, at / field, "1.31");
  }
}

void podAffinity(const Reports& report, const Value* affinity, const At& at) {
  forEach(json::find(affinity, kRequired), at / kRequired,
          [&](const Value& one, const At& place) { podTerm(report, one, place); });
  forEach(json::find(affinity, kPreferred), at / kPreferred, [&](const Value& one, const At& place) {
    weight(report, one, place / "weight", id::kPodAffinity);
    const Value* term = json::findObject(&one, "podAffinityTerm");
    const At termAt = place / "podAffinityTerm";
    if (term == nullptr) return report(id::kPodAffinity).required(termAt);
    podTerm(report, *term, termAt);
  });
}

std::set<std::string_view> keysOf(const Value* selector) {
  std::set<std::string_view> keys;
  const At nowhere;
  forEachMember(json::find(selector, "matchLabels"), nowhere,
                [&](std::string_view key, const Value&, const At&) { keys.insert(key); });
  forEach(json::find(selector, "matchExpressions"), nowhere,
          [&](const Value& one, const At&) { keys.insert(json::findText(&one, "key")); });
  return keys;
}

}  // namespace

void labelSelector(const Reports& report, const Value* selector, const At& at) {
  const At matchLabels = at / "matchLabels";
  forEachMember(
      json::find(selector, "matchLabels"), matchLabels,
      [&](std::string_view key, const Value& value, const At& place) {
        report(id::kSelector).check(place, key, k8s::qualifiedNameProblem(key));
        report(id::kSelector).check(place, json::text(value), k8s::labelValueProblem(json::text(value)));
      });
  forEach(json::find(selector, "matchExpressions"), at / "matchExpressions",
          [&](const Value& one, const At& place) {
            operatorOf(report, one, place, false, id::kSelector);
            labelKey(report, one, place / "key", id::kSelector);
            const At values = place / "values";
            forEachText(json::find(one, "values"), values, [&](std::string_view value, const At& valueAt) {
              report(id::kSelector).check(valueAt, value, k8s::labelValueProblem(value));
            });
          });
}

void matchLabelKeys(const Reports& report, const Value& term, const At& at) {
  const Value* selector = json::findObject(&term, "labelSelector");
  const std::set<std::string_view> selected = keysOf(selector);
  std::set<std::string_view> mismatched;
  bool repeated = false;
  for (const std::string_view field : {"mismatchLabelKeys", "matchLabelKeys"}) {
    const Value* keys = json::find(term, field);
    const At place = at / field;
    if (sizeOf(keys) > 0 && selector == nullptr) {
      report(id::kMatchLabelKeys).forbidden(place, "must not be specified when labelSelector is not set");
      continue;
    }
    forEachText(keys, place, [&](std::string_view key, const At& keyAt) {
      report(id::kMatchLabelKeys).check(keyAt, key, k8s::qualifiedNameProblem(key));
      if (field == "mismatchLabelKeys") {
        mismatched.insert(key);
        return;
      }
      if (mismatched.contains(key)) {
        report(id::kMatchLabelKeys)
            .invalid(keyAt, key, "exists in both matchLabelKeys and mismatchLabelKeys");
      }
      repeated = repeated || selected.contains(key);
    });
  }
  if (repeated) {
    report(id::kMatchLabelKeysDoubtful).warn(at, "matchLabelKeys repeat keys of labelSelector");
  }
}

void affinity(const Reports& report, const Value* affinity, const At& at) {
  nodeAffinity(report, json::findObject(affinity, "nodeAffinity"), at / "nodeAffinity");
  podAffinity(report, json::findObject(affinity, "podAffinity"), at / "podAffinity");
  podAffinity(report, json::findObject(affinity, "podAntiAffinity"), at / "podAntiAffinity");
}

}  // namespace dynamo::rules::pod
