#pragma once
// Checks the profiling Job that a DynamoGraphDeploymentRequest with `spec.overrides.profilingJob` gets.

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Adds an error for each part of the rendered Job that the API server would reject, and a warning for each
/// field of the override that the Job ignores (rule dgdr-override-job).
void checkProfilingJob(const json::Value& request, field::Findings& findings);

}  // namespace dynamo::admission
