#pragma once
// `spec.overrides.dgd` of a DynamoGraphDeploymentRequest: a part of a DynamoGraphDeployment that the profiler
// merges into the graph it generates, hours after the request was admitted.

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// What of the override could never be applied (errors) or has no effect (warnings). Only what holds whatever
/// the profiler generates around it is judged: what is missing may be generated. An override that is no
/// DynamoGraphDeployment is not looked into.
void checkGraphOverride(const json::Value& request, field::Findings& findings);

}  // namespace dynamo::admission
