#pragma once
// Whether an observed child is ready, one function a kind. A child is never ready on the strength of a
// status, or of pods, of an older spec.

#include <cstdint>
#include <optional>
#include <string>

#include "common/json/value.h"

namespace dynamo::lifecycle {

struct Readiness {
  bool ready = false;
  std::string reason;   ///< CamelCase, stable
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

// An object that was not found is a nullptr.

/// Services, claims, accounts and the like: they are ready as soon as they are there.
Readiness existenceReadiness(const json::Value* object);
Readiness podReadiness(const json::Value* pod);
Readiness deploymentReadiness(const json::Value* deployment);
/// The PodGroup only says why pods are missing; without Volcano's status the set decides alone.
Readiness leaderWorkerSetReadiness(const json::Value* set, const json::Value* podGroup);
Readiness componentDeploymentReadiness(const json::Value* deployment);

/// Whether Grove has taken note of the latest spec of the set (quirk ctl-Q35).
Readiness podCliqueSetReadiness(const json::Value* set);
/// `set` is the PodCliqueSet; `wanted` the replicas that the graph asks for, nullopt when it leaves them to
/// others.
Readiness podCliqueReadiness(const json::Value* clique, const json::Value* set,
                             std::optional<std::int64_t> wanted);
Readiness scalingGroupReadiness(const json::Value* group, const json::Value* set,
                                std::optional<std::int64_t> wanted);

}  // namespace dynamo::lifecycle
