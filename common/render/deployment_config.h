#pragma once
// The variable DYN_DEPLOYMENT_CONFIG in the component pathway (spec/pod-defaults.md section 21,
// spec/children.md section 6; quirk child-Q31).

#include <optional>

#include "common/render/component.h"

namespace dynamo::render {

/// Applies the component's part of the configuration to `spec`: port of a frontend, resources. Returns
/// `workers` where given. A text that is no JSON object changes nothing.
std::optional<long long> applyDeploymentConfig(std::string_view service, json::Value& spec,
                                               json::Allocator& allocator);

}  // namespace dynamo::render
