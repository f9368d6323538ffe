#include "common/admission/rules.h"

#include <set>
#include <span>

#include "common/admission/kinds.h"
#include "common/admission/never_starts.h"
#include "common/render/rules.h"
#include "common/rules/pod/pod.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::Rule;

std::vector<Rule> all(std::initializer_list<std::span<const Rule>> lists) {
  std::vector<Rule> rules;
  for (const auto list : lists) rules.insert(rules.end(), list.begin(), list.end());
  return rules;
}

/// The pod rules with the severities that admission uses.
std::vector<Rule> podRules() {
  std::vector<Rule> rules = all({rules::pod::podRules()});
  for (Rule& rule : rules) {
    if (isUnstartable(rule.id)) rule.severity = field::Severity::Error;
  }
  return rules;
}

}  // namespace

const std::vector<RuleGroup>& ruleGroups() {
  static const std::vector<RuleGroup> kGroups = [] {
    std::vector<RuleGroup> groups = {{"schema", all({schema::rules()})}};
    for (const Kind& kind : kinds()) groups.push_back({kind.name, kind.rules()});
    groups.push_back({"render", all({render::rules()})});
    groups.push_back({"pod", podRules()});
    return groups;
  }();
  return kGroups;
}

bool isLock(std::string_view rule) {
  static const std::set<std::string_view> kLocks = [] {
    std::set<std::string_view> locks;
    for (const RuleGroup& group : ruleGroups()) {
      for (const Rule& each : group.rules) {
        if (each.severity == field::Severity::Lock) locks.insert(each.id);
      }
    }
    return locks;
  }();
  return kLocks.contains(rule);
}

}  // namespace dynamo::admission
