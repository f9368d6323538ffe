#pragma once
// Pods of a Job that cannot be created. The status of the Job does not say so; only Events of the Job
// controller do (decisions life-Q47, ctl-Q89).

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "common/json/value.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

/// What to do about a Job that should have a pod, but has none.
struct MissingPods {
  bool readEvents;                  ///< false: the Job controller may not have tried yet
  std::chrono::milliseconds again;  ///< when to look at the Job again
};

/// nullopt: a pod of the Job exists that has not ended, or the Job needs none, because it is over or
/// suspended. `pods`: of the namespace; pods of others are ignored.
std::optional<MissingPods> missingPods(const json::Value& job, std::span<const json::Value* const> pods,
                                       Time now);

/// Selects the Events about pods of the Job that could not be created (a field selector of core/v1).
std::string failedCreateSelector(const json::Value& job);

/// Adds the cause that the latest of `events` reports, if the Job lacks pods and the Event is newer than its
/// last pod. Events about other objects are ignored.
void addMissingPods(PodFailures& failures, const json::Value& job, std::span<const json::Value* const> pods,
                    std::span<const json::Value* const> events, Time now);

/// What keeps the pods of a profiling Job from running. Its profiler ends first. While the output copier
/// stores the output, nothing is told; after some minutes, that it still runs (decision life-Q48).
/// `missingRole`: the name of the ClusterRole that the copier needs if it does not exist, otherwise empty.
PodFailures profilingPodFailures(std::span<const json::Value* const> pods, std::string_view missingRole,
                                 Time now);
/// Whether a profiler among `pods` has ended, but not its output copier.
bool awaitsCopier(std::span<const json::Value* const> pods);

}  // namespace dynamo::lifecycle
