#pragma once
// `spec.overrides.dgd` of a DynamoGraphDeploymentRequest: a part of a DynamoGraphDeployment that the profiler
// merges into the graph it generates, hours after the request was admitted.

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/rules/validators.h"

namespace dynamo::admission {

/// Reports parts of the override that can never be applied (errors) or have no effect (warnings), whatever
/// the profiler generates. Missing fields are not reported because the profiler may generate them. An
/// override of another kind is not checked. `policy` is that of the generated graph.
void checkGraphOverride(const json::Value& request, const rules::GraphPolicy& policy,
                        field::Findings& findings);

}  // namespace dynamo::admission
