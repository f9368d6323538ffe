#include "common/admission/rules.h"

#include <set>
#include <span>

#include "common/admission/never_starts.h"
#include "common/admission/request.h"
#include "common/api/kinds.h"
#include "common/podrules/pod.h"
#include "common/render/rules.h"
#include "common/schema/validator.h"
#include "common/validation/dgdr.h"
#include "common/validation/validators.h"

namespace dynamo::admission {
namespace {

using validation::Rule;

std::vector<Rule> all(std::initializer_list<std::span<const Rule>> lists) {
  std::vector<Rule> rules;
  for (const auto list : lists) rules.insert(rules.end(), list.begin(), list.end());
  return rules;
}

/// Of pods, as admission tells them.
std::vector<Rule> podRules() {
  std::vector<Rule> rules = all({podrules::podRules()});
  for (Rule& rule : rules) {
    if (neverStarts(rule.id)) rule.severity = validation::Severity::Error;
  }
  return rules;
}

}  // namespace

const std::vector<RuleGroup>& ruleGroups() {
  static const std::vector<RuleGroup> kGroups = {
      {"schema", all({schema::rules()})},
      {api::kDynamoGraphDeployment, all({validation::dgdRules()})},
      {api::kDynamoComponentDeployment, all({validation::dcdRules()})},
      {api::kDynamoGraphDeploymentScalingAdapter, all({validation::scalingAdapterRules()})},
      {api::kDynamoModel, all({validation::modelRules()})},
      {api::kDynamoCheckpoint, all({validation::checkpointRules()})},
      {api::kDynamoGraphDeploymentRequest, all({validation::dgdrRules(), requestRules()})},
      {"render", all({render::rules()})},
      {"pod", podRules()}};
  return kGroups;
}

bool isLock(std::string_view rule) {
  static const std::set<std::string_view> kLocks = [] {
    std::set<std::string_view> locks;
    for (const RuleGroup& group : ruleGroups()) {
      for (const Rule& each : group.rules) {
        if (each.severity == validation::Severity::Lock) locks.insert(each.id);
      }
    }
    return locks;
  }();
  return kLocks.contains(rule);
}

}  // namespace dynamo::admission
