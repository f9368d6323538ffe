#pragma once
// JSON -> OperatorConfig.

#include "common/config/operator_config.h"
#include "common/validation/finding.h"

namespace dynamo::config {

/// Decodes `root`, a JSON object, without defaults and without rules: wrong types are errors, unknown fields
/// warnings.
OperatorConfig decodeConfig(const json::Value& root, validation::Findings& findings);

}  // namespace dynamo::config
