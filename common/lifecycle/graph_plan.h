#pragma once
// The first half of a pass over a DynamoGraphDeployment: what its children are rendered with. A whole pass:
//
// - deletion.h: of an object that goes, deletionOutcome and nothing else;
// - pathway.h, render/hash.h: takesGrove, and the hash of the workers; worker_hash.h may keep the present
// one;
// - planGraph, from what the cache has;
// - render::renderGraph, then render/adopt.h: the children are applied: the answers take the cache's place;
// - presence.h: what is missing is a failure, as those of rendering and applying are;
// - surplus.h, where there were no failures;
// - graph_status.h: graphOutcome.

#include <vector>

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/restart.h"
#include "common/lifecycle/rollout.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

struct GraphPlan {
  /// The graph with the status that this pass comes to: it shares the text of the stored one (json::share).
  /// It is what render::renderGraph takes, so that children and status speak of the same restart.
  json::Value graph;
  render::Observed observed;  ///< the other thing that renderGraph takes
  Rollout rollout;
  RestartStep restart;
};

/// `view` is from before any write of this pass. It and the allocator must outlive the plan.
GraphPlan planGraph(const GraphView& view, Time now, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
