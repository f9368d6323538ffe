#pragma once
// Every rule that a finding can name, by what it is about.

#include <string_view>
#include <vector>

#include "common/field/rule.h"

namespace dynamo::admission {

struct RuleGroup {
  std::string_view about;  ///< "schema", a kind, "render" or "pod"
  std::vector<field::Rule> rules;
};

const std::vector<RuleGroup>& ruleGroups();

/// Whether a rule is about the change and not about the object (field::Severity::Lock).
bool isLock(std::string_view rule);

}  // namespace dynamo::admission
