#pragma once
// Every rule that a finding can name, by what it is about.

#include <string_view>
#include <vector>

#include "common/validation/rule.h"

namespace dynamo::admission {

struct RuleGroup {
  std::string_view about;  ///< "schema", a kind, "render" or "pod"
  std::vector<validation::Rule> rules;
};

const std::vector<RuleGroup>& ruleGroups();

/// Whether a rule is about the change and not about the object (validation::Severity::Lock).
bool isLock(std::string_view rule);

}  // namespace dynamo::admission
