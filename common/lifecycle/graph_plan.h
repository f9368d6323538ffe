#pragma once
// The first half of a pass over a DynamoGraphDeployment: what its children are rendered with. A whole pass:
//
//   deletionOutcome (deletion.h)       of an object that goes, and nothing else
//   takesGrove, workerHash             pathway.h, render/hash.h
//   keptHash                           worker_hash.h; where the annotation has another hash, over a first
//   rendering planGraph                          from what the cache has renderGraph, apply answers of the
//   API server take the place of what the cache had missingReferences                  presence.h; failures,
//   as those of rendering and applying surplusChildren                    surplus.h; where there were no
//   failures graphOutcome                       graph_status.h

#include <vector>

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/restart.h"
#include "common/lifecycle/rollout.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

struct GraphPlan {
  /// The graph with the status that this pass comes to: an alias (json::alias) of the stored one. It is what
  /// render::renderGraph takes, so that children and status speak of the same restart.
  json::Value graph;
  render::Observed observed;  ///< the other thing that renderGraph takes
  Rollout rollout;
  RestartStep restart;
};

/// `view` is from before any write of this pass. It and the allocator must outlive the plan.
GraphPlan planGraph(const GraphView& view, Time now, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
