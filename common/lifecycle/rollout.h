#pragma once
// Managed rolling updates of workers over the passes of a controller: phases, the annotation that names the
// serving generation, and the end of old generations. How many replicas each generation has next is
// render/rolling_update.h's.

#include <map>
#include <string>
#include <vector>

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

struct Rollout {
  bool underWay = false;
  json::Value status;  ///< status.rollingUpdate; null: none
  /// service -> replicas of its new generation; for render::Observed.
  std::map<std::string, long long, std::less<>> newReplicas;
  std::vector<Write> writes;  ///< in order; the annotation comes last (quirk ctl-Q7)
  std::vector<Event> events;
};

/// The next step of a graph in the component pathway.
Rollout rollWorkers(const GraphView& view, Time now, json::Allocator& allocator);

/// Of a graph on Grove, which rolls by itself: an update that another pathway began is over, and the
/// annotation follows the spec.
Rollout leaveRollout(const GraphView& view, Time now, json::Allocator& allocator);

/// Old generations of `service`: components of the graph with another hash than the view's.
std::vector<const json::Value*> oldGenerations(const std::vector<const json::Value*>& components,
                                               std::string_view service, std::string_view hash);

}  // namespace dynamo::lifecycle
