#pragma once
// Crashes in LeaderWorkerSets. A set replaces all pods of a group as soon as a container of one of them has
// been restarted, so no pod shows for long that it crashes.

#include <span>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/pod_failures.h"

namespace dynamo::lifecycle {

/// The crashes for which groups of pods are being replaced. `pods`: those of one component.
std::vector<PodFailure> groupFailures(std::span<const json::Value* const> pods);

}  // namespace dynamo::lifecycle
