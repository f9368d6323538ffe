#pragma once
// What the profiler is told of a DynamoGraphDeploymentRequest: its spec, with the hardware that GPU discovery
// has found.

#include <string>

#include "common/render/component.h"

namespace dynamo::render {

/// Whether GPU discovery must find what the profiler needs, because the request does not say it (life-Q1).
bool needsDiscovery(const json::Value& request);

/// The spec as JSON, in the order in which Go writes it. Members that v1beta1 does not know are left out.
std::string profilerConfig(const json::Value& request, const Context& context);

/// The rule of errors about hardware that is missing.
inline constexpr const char* kHardwareRule = "render.profiler-hardware";

/// Errors for what is missing and without which the profiler fails at once.
void checkProfilerConfig(const json::Value& request, const Context& context, Errors& errors);

}  // namespace dynamo::render
