#pragma once
// All rules that a finding can name, grouped by subject.

#include <string_view>
#include <vector>

#include "common/field/rule.h"

namespace dynamo::admission {

struct RuleGroup {
  std::string_view about;  ///< "schema", a kind, "render" or "pod"
  std::vector<field::Rule> rules;
};

const std::vector<RuleGroup>& ruleGroups();

/// Whether a rule restricts changes rather than objects (field::Severity::Lock).
bool isLock(std::string_view rule);

}  // namespace dynamo::admission
