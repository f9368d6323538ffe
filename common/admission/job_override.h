#pragma once
// `spec.overrides.profilingJob` of a DynamoGraphDeploymentRequest: what of it goes into the profiling Job.

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// What the API server would refuse of the Job with the override in it, and what of the override is not taken
/// over (rule dgdr-override-job).
void checkJobOverride(const json::Value& request, field::Findings& findings);

}  // namespace dynamo::admission
