#pragma once
// The second half of a reconcile of a DynamoGraphDeployment: its status, after the children were applied.

#include <span>
#include <string_view>

#include "common/lifecycle/graph_plan.h"

namespace dynamo::lifecycle {

namespace condition {
inline constexpr std::string_view kReady = "Ready";
}  // namespace condition

/// Values of status.state.
namespace state {
inline constexpr std::string_view kPending = "pending";
inline constexpr std::string_view kSuccessful = "successful";
inline constexpr std::string_view kFailed = "failed";
}  // namespace state

/// Reasons of the condition Ready. They have the spelling of the reference, because alerts and scripts
/// compare them (quirk ctl-Q34).
namespace reason {
inline constexpr std::string_view kAllReady = "all_resources_are_ready";
inline constexpr std::string_view kSomeNotReady = "some_resources_are_not_ready";
inline constexpr std::string_view kNoCapacity = "insufficient_capacity";
inline constexpr std::string_view kRolling = "rolling_update_in_progress";
inline constexpr std::string_view kRestarting = "restart_in_progress";
inline constexpr std::string_view kNotReconciled = "failed_to_reconcile_the_resources";
}  // namespace reason

/// Computes status, writes and Events. `view` shows the children after the writes of this reconcile.
/// `failures` are those of rendering and of these writes. With failures, the outcome omits the plan's writes,
/// and the status keeps its counts (quirk ctl-Q3).
Outcome graphOutcome(const GraphView& view, const GraphPlan& plan, std::span<const Ending> failures, Time now,
                     json::Allocator& allocator);

}  // namespace dynamo::lifecycle
