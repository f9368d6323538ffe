#pragma once
// The restart of a graph: which services restart next, and when it is done (quirks ctl-Q19, ctl-Q41).

#include <span>
#include <string>
#include <vector>

#include "common/lifecycle/graph_view.h"

namespace dynamo::lifecycle {

namespace phase {
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kInProgress = "InProgress";
inline constexpr std::string_view kRestarting = "Restarting";
inline constexpr std::string_view kCompleted = "Completed";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kSuperseded = "Superseded";
}  // namespace phase

struct RestartStep {
  std::string observedId;  ///< empty: there is no restart to tell of
  std::string phase;
  std::vector<std::string> inProgress;
  std::vector<Event> events;

  bool underWay() const { return phase == phase::kRestarting; }
};

/// The step that follows from the stored status and the services. `workersRoll`: a rolling update of workers
/// is under way, which restarts them anyway.
RestartStep restartStep(const GraphView& view, std::span<const ServiceState> services, bool workersRoll);

/// status.restart; null when there is none.
json::Value restartStatus(const RestartStep& step, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
