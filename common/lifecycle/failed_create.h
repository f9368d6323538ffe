#pragma once
// Pods of LeaderWorkerSets that cannot be created. A LeaderWorkerSet runs as StatefulSets. If quota or
// admission rejects a pod, neither the status of the set nor that of the StatefulSets says why; only Events
// of the StatefulSets do.

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

/// Selects these Events (a Kubernetes field selector of core/v1).
inline constexpr std::string_view kFailedCreateSelector =
    "involvedObject.kind=StatefulSet,reason=FailedCreate";

/// The names of LeaderWorkerSets that the Event may be about. The StatefulSet of the leaders has the name of
/// the set; that of the workers of a group has also the number of the group.
std::vector<std::string_view> leaderWorkerSetsOf(const json::Value& event);

/// The causes that `events` report for pods of the LeaderWorkerSet `set` that are not among `pods`.
/// Kubernetes keeps an Event for an hour after it last happened. Therefore only the latest about a pod
/// counts, and only if it happened since `since` and since the set exists. nullopt: no limit.
std::vector<PodFailure> failedCreates(std::span<const json::Value* const> events, const json::Value& set,
                                      std::span<const json::Value* const> pods, std::optional<Time> since);

}  // namespace dynamo::lifecycle
