#pragma once
// The status of a DynamoComponentDeployment from what is observed of its workload.

#include <span>
#include <string_view>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

namespace condition {
inline constexpr std::string_view kAvailable = "Available";
inline constexpr std::string_view kComponentReady = "DynamoComponentReady";
/// Only while something keeps pods from running; its reason and message name the cause (quirk ctl-Q36).
inline constexpr std::string_view kPodFailure = "PodFailure";
}  // namespace condition

namespace reason {
/// Of Available, as the reference has it: a child could not be written.
inline constexpr std::string_view kReconciling = "Reconciling";
/// Of Events about such failures.
inline constexpr std::string_view kReconcileError = "ReconcileError";
}  // namespace reason

/// A DynamoComponentDeployment and its children: what the API server answered to the writes of this pass,
/// else what the cache has.
struct ComponentView {
  const json::Value& deployment;          ///< the DynamoComponentDeployment
  bool lwsEnabled = true;                 ///< render::lwsEnabled
  const json::Value* workload = nullptr;  ///< its Deployment
  std::span<const json::Value* const> leaderWorkerSets{};
  std::span<const json::Value* const> podGroups{};
  /// Pods of the namespace or less: those of other components are passed over.
  std::span<const json::Value* const> pods{};
  std::span<const Failure> failures{};  ///< of the writes of this pass
};

/// Whether the component runs as LeaderWorkerSets, one a replica.
bool usesLeaderWorkerSets(const ComponentView& view);

Outcome componentOutcome(const ComponentView& view, Time now, json::Allocator& allocator);

/// Whether `pod` belongs to the DynamoComponentDeployment, by the labels that rendering gives it.
bool isPodOf(const json::Value& pod, const json::Value& deployment);

}  // namespace dynamo::lifecycle
