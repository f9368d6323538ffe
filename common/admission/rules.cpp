#include "common/admission/rules.h"

#include <set>
#include <span>

#include "common/admission/never_starts.h"
#include "common/admission/request.h"
#include "common/api/kinds.h"
#include "common/render/rules.h"
#include "common/rules/pod/pod.h"
#include "common/rules/request/dgdr.h"
#include "common/rules/validators.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::Rule;

std::vector<Rule> all(std::initializer_list<std::span<const Rule>> lists) {
  std::vector<Rule> rules;
  for (const auto list : lists) rules.insert(rules.end(), list.begin(), list.end());
  return rules;
}

/// Of pods, as admission tells them.
std::vector<Rule> podRules() {
  std::vector<Rule> rules = all({rules::pod::podRules()});
  for (Rule& rule : rules) {
    if (neverStarts(rule.id)) rule.severity = field::Severity::Error;
  }
  return rules;
}

}  // namespace

const std::vector<RuleGroup>& ruleGroups() {
  static const std::vector<RuleGroup> kGroups = {
      {"schema", all({schema::rules()})},
      {api::kDynamoGraphDeployment, all({rules::dgdRules()})},
      {api::kDynamoComponentDeployment, all({rules::dcdRules()})},
      {api::kDynamoGraphDeploymentScalingAdapter, all({rules::scalingAdapterRules()})},
      {api::kDynamoModel, all({rules::modelRules()})},
      {api::kDynamoCheckpoint, all({rules::checkpointRules()})},
      {api::kDynamoGraphDeploymentRequest, all({rules::dgdrRules(), requestRules()})},
      {"render", all({render::rules()})},
      {"pod", podRules()}};
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
