#pragma once
// What the profiler is told of a DynamoGraphDeploymentRequest: its spec, with the hardware that GPU discovery
// has found.

#include <string>

#include "common/render/component.h"

namespace dynamo::render {

/// The spec as JSON, in the order in which Go writes it. Members that v1beta1 does not know are left out.
std::string profilerConfig(const json::Value& request, const Context& context);

/// Errors for what is missing and without which the profiler fails at once.
void checkProfilerConfig(const json::Value& request, const Context& context, Errors& errors);

}  // namespace dynamo::render
