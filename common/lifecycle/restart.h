#pragma once
// The restart of a graph: which services restart next, which annotation their children carry, and when the
// restart is complete (quirks ctl-Q19, ctl-Q41, ctl-Q50).

#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/lifecycle/graph_view.h"

namespace dynamo::lifecycle {

/// Phases of status.restart and status.rollingUpdate.
namespace phase {
inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kInProgress = "InProgress";
inline constexpr std::string_view kRestarting = "Restarting";
inline constexpr std::string_view kCompleted = "Completed";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kSuperseded = "Superseded";
}  // namespace phase

/// The content of status.restart, and the Events of the step that leads to it.
struct RestartStep {
  std::string observedId;  ///< empty: the graph has no status.restart
  std::string phase;
  std::vector<std::string> inProgress;
  std::vector<Event> events;

  bool restarting() const { return phase == phase::kRestarting; }
};

/// The next step, from the stored status and the observed services. `workersRoll`: a rolling update of the
/// workers is in progress. It restarts them anyway, so it supersedes the restart.
RestartStep restartStep(const GraphView& view, std::span<const ServiceState> services, bool workersRoll);

/// service -> value of nvidia.com/restartAt on its child.
using RestartAnnotations = std::map<std::string, std::string, std::less<>>;

/// The annotations that follow from `step`. `present` has the annotations of the existing children: a service
/// that is not restarted keeps its value.
RestartAnnotations restartAnnotations(const json::Value& graph, const RestartStep& step, bool workersRoll,
                                      const RestartAnnotations& present);

/// The annotations that follow from the stored status of the graph alone. For renderings without a cluster.
RestartAnnotations storedRestartAnnotations(const json::Value& graph);

/// status.restart; null when there is none.
json::Value restartStatus(const RestartStep& step, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
