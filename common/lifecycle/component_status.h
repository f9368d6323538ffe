#pragma once
// The status of a DynamoComponentDeployment, computed from its observed workload.

#include <chrono>
#include <span>
#include <string_view>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"
#include "common/render/write_plan.h"

namespace dynamo::lifecycle {

namespace condition {
inline constexpr std::string_view kAvailable = "Available";
inline constexpr std::string_view kComponentReady = "DynamoComponentReady";
/// Present only while something prevents pods from running. Reason and message name the cause (quirk
/// ctl-Q36).
inline constexpr std::string_view kPodFailure = "PodFailure";
}  // namespace condition

namespace reason {
/// Reason of Available when a child could not be written; the reference uses the same.
inline constexpr std::string_view kReconciling = "Reconciling";
/// Reason of Events about such failures.
inline constexpr std::string_view kReconcileError = "ReconcileError";
}  // namespace reason

/// A DynamoComponentDeployment and its children after the writes of this reconcile: the answers of the API
/// server, else the objects of the cache.
struct ComponentView {
  const json::Value& deployment;  ///< the DynamoComponentDeployment
  bool lwsEnabled = true;         ///< render::lwsEnabled
  /// How long a LeaderWorkerSet must be available before it counts (decision child-Q44). Deployments count
  /// themselves.
  std::chrono::seconds minReady{0};
  const json::Value* workload = nullptr;  ///< its Deployment
  /// The rendered ones; after a failure, all that the component controls: some may have to be deleted yet.
  std::span<const json::Value* const> leaderWorkerSets{};
  std::span<const json::Value* const> podGroups{};
  std::span<const json::Value* const> events{};  ///< about pods of its sets (failed_create.h)
  /// Pods of the namespace. Pods of other components are ignored.
  std::span<const json::Value* const> pods{};
  std::span<const Ending> failures{};              ///< of the writes of this reconcile
  std::span<const render::WriteNotice> notices{};  ///< of these writes
};

/// How long a component stays unavailable after a change of its spec if its LeaderWorkerSets do not report
/// which spec their status describes. The controller of LeaderWorkerSets observes a change within this time
/// (quirk ctl-Q43).
inline constexpr std::chrono::seconds kUnobservedGrace{10};

/// Whether the component runs as LeaderWorkerSets, one per replica.
bool usesLeaderWorkerSets(const ComponentView& view);

/// After a failure, the status has the counts of the workload that exists, because an earlier spec may have
/// run more pods (decision ctl-Q65).
Outcome componentOutcome(const ComponentView& view, Time now, json::Allocator& allocator);

/// Whether the pod is one of the Job of a checkpoint. It has the labels of the graph and the service, but
/// serves nobody.
bool takesCheckpoint(const json::Value& pod);

/// Whether `pod` has the labels that rendering gives to the pods of the DynamoComponentDeployment.
bool isPodOf(const json::Value& pod, const json::Value& deployment);

}  // namespace dynamo::lifecycle
