#pragma once
// The first half of a reconcile of a DynamoGraphDeployment: what its children are rendered with.

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/restart.h"
#include "common/lifecycle/rolling_update.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

struct GraphPlan {
  render::LifecycleInputs inputs;  ///< for render::renderGraph
  RollingUpdate rollingUpdate;
  RestartStep restart;
};

/// `view` shows the children before any write of this reconcile.
GraphPlan planGraph(const GraphView& view, Time now, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
