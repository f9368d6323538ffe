#pragma once
// Decodes JSON into OperatorConfig.

#include <string_view>

#include "common/config/operator_config.h"
#include "common/field/finding.h"

namespace dynamo::config {

inline constexpr std::string_view kConfigGroup = "operator.config.dynamo.nvidia.com";
inline constexpr std::string_view kConfigApiVersion = "operator.config.dynamo.nvidia.com/v1alpha1";
inline constexpr std::string_view kConfigKind = "OperatorConfiguration";

/// Decodes `root`, a JSON object, without defaults and without validation. Wrong types are errors; unknown
/// fields are warnings.
OperatorConfig decodeConfig(const json::Value& root, field::Findings& findings);

}  // namespace dynamo::config
