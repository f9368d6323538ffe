#pragma once
// `spec.overrides.profilingJob` of a DynamoGraphDeploymentRequest: what of it goes into the profiling Job.

#include "common/json/value.h"
#include "common/validation/finding.h"

namespace dynamo::admission {

/// What the API server would refuse of the Job with the override in it, and what of the override is not taken
/// over (rule dgdr-override-job).
void checkJobOverride(const json::Value& request, validation::Findings& findings);

}  // namespace dynamo::admission
