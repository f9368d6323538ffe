#pragma once
// Everything that admission says of a DynamoGraphDeploymentRequest: the rules of its own, and what its
// profiling Job and the profiler in it could not take. Webhook and `check` call the same function.

#include <span>

#include "common/rules/request/dgdr.h"

namespace dynamo::admission {

/// Sorted findings; paths are those of the version that the client wrote. On UPDATE, what the old object has
/// too is a warning; an object that is being deleted is admitted as it is.
field::Findings validateRequest(const rules::DgdrRequest& request);

/// The rules that are not in rules::dgdrRules(); those of the Job's pod are pod rules.
std::span<const field::Rule> requestRules();

}  // namespace dynamo::admission
