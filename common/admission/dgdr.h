#pragma once
// Validation of a DynamoGraphDeploymentRequest: its own rules, and the settings that its profiling Job and
// the profiler could not use. The webhook and `check` call the same function.

#include <span>

#include "common/rules/request/dgdr.h"

namespace dynamo::admission {

/// Sorted findings, with paths of the version that the client wrote. On UPDATE a defect that the old object
/// already has is a warning. An object that is being deleted is always admitted.
field::Findings validateDgdr(const rules::DgdrWrite& request);

/// The rules that are not in rules::dgdrRules(). The pod rules check the pod of the Job.
std::span<const field::Rule> dgdrRules();

}  // namespace dynamo::admission
