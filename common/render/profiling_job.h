#pragma once
// The Job that profiles a model for a DynamoGraphDeploymentRequest. renderProfiling() of children.h makes it
// with all that belongs to it.

#include "common/render/children.h"

namespace dynamo::render {

/// The spec of the Job of `request` (v1beta1) with its override in it. In a trial it shares the texts of the
/// request, and has no arguments and variables of the operator: nobody judges them.
json::Value profilingJobSpec(const json::Value& request, const Context& context, json::Allocator& allocator);

}  // namespace dynamo::render
