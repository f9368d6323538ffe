#pragma once
// Whether an observed child is ready: one function per kind. A status of an older spec never makes a child
// ready.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/json/value.h"

namespace dynamo::lifecycle {

struct Readiness {
  bool ready = false;
  std::string reason;   ///< CamelCase; scripts may compare it
  std::string message;  ///< for users: "1 of 2 replicas available"

  bool operator==(const Readiness&) const = default;
};

namespace reason {
inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kMissing = "Missing";
inline constexpr std::string_view kDeleted = "BeingDeleted";
inline constexpr std::string_view kNotObserved = "SpecNotObserved";
inline constexpr std::string_view kPaused = "Paused";
inline constexpr std::string_view kUpdating = "Updating";
inline constexpr std::string_view kScaling = "Scaling";
inline constexpr std::string_view kUnavailable = "Unavailable";
inline constexpr std::string_view kStuck = "ProgressDeadlineExceeded";
inline constexpr std::string_view kUnscheduled = "PodGroupNotScheduled";
}  // namespace reason

// A nullptr stands for an object that does not exist.

/// For kinds without a status, such as Services and ServiceAccounts: they are ready when they exist.
Readiness existenceReadiness(const json::Value* object);
Readiness podReadiness(const json::Value* pod);
Readiness deploymentReadiness(const json::Value* deployment);
/// The PodGroup only explains why pods are missing. The status of a set without observedGeneration counts as
/// current; see lacksObservedGeneration.
Readiness leaderWorkerSetReadiness(const json::Value* set, const json::Value* podGroup);

/// Whether the status of the set may describe an older spec without showing it: releases of LeaderWorkerSet
/// before 0.7 have no status.observedGeneration. The status of the first generation is always current.
bool lacksObservedGeneration(const json::Value& set);
Readiness componentDeploymentReadiness(const json::Value* deployment);

/// Whether the status of a DynamoComponentDeployment describes its current spec. A failed reconcile does not
/// set status.observedGeneration, but its condition Available has the generation.
bool isComponentObserved(const json::Value& deployment);

/// Whether the last reconcile of the current spec of a DynamoComponentDeployment failed.
bool isComponentRefused(const json::Value& deployment);

/// Whether Grove has observed the latest spec of the set (quirk ctl-Q35).
Readiness podCliqueSetReadiness(const json::Value* set);
/// `set` is the PodCliqueSet. `desired` has the replicas of the service in the graph; nullopt: the graph does
/// not set them.
Readiness podCliqueReadiness(const json::Value* clique, const json::Value* set,
                             std::optional<std::int64_t> desired);
/// Of `cliques`, the PodCliques of the group must be ready with all pods: Grove takes a replica of the group
/// for available when minAvailable pods of each clique are ready (decision ctl-Q53).
Readiness scalingGroupReadiness(const json::Value* group, const json::Value* set,
                                std::optional<std::int64_t> desired,
                                std::span<const json::Value* const> cliques);

}  // namespace dynamo::lifecycle
