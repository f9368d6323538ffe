#pragma once
// Everything that admission says of a DynamoGraphDeploymentRequest: the rules of its own, and what its
// profiling Job and the profiler in it could not take. Webhook and `check` call the same function.

#include <span>

#include "common/validation/dgdr.h"

namespace dynamo::admission {

/// Sorted findings; paths are those of the version that the client wrote. On UPDATE, what the old object has
/// too is a warning; an object that is being deleted is admitted as it is.
validation::Findings validateRequest(const validation::DgdrRequest& request);

/// The rules that are not in validation::dgdrRules(); those of the Job's pod are pod rules.
std::span<const validation::Rule> requestRules();

}  // namespace dynamo::admission
