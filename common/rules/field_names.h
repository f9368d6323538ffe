#pragma once
// Names of common/field that all rules use: findings, field paths and tables of rules.

#include "common/field/check.h"
#include "common/field/finding.h"
#include "common/field/judge.h"
#include "common/field/path.h"
#include "common/field/rule.h"

namespace dynamo::rules {

using field::addRules;
using field::At;
using field::Check;
using field::ErrorType;
using field::FieldError;
using field::Findings;
using field::forEachMember;
using field::forEachObject;
using field::isEmptyList;
using field::judge;
using field::judgeBy;
using field::Members;
using field::Path;
using field::Report;
using field::Rule;
using field::rulesIn;
using field::runChecks;
using field::Severity;
using field::showValue;
using field::Suggestions;
using field::valueAt;
using field::Warning;

}  // namespace dynamo::rules
