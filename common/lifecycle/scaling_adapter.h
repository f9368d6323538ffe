#pragma once
// A DynamoGraphDeploymentScalingAdapter: the replicas that it writes into its graph, and its status.

#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

/// `graph` is the graph that spec.dgdRef names; nullptr: it does not exist (quirk ctl-Q22).
/// `honoursAutoscaling`: model::hasScalingAdapter.
Outcome adapterOutcome(const json::Value& adapter, const json::Value* graph, bool honoursAutoscaling,
                       Time now, json::Allocator& allocator);

/// The outcome after the API server has rejected a write of adapterOutcome.
Outcome adapterFailure(const json::Value& adapter, const Ending& failure, Time now,
                       json::Allocator& allocator);

}  // namespace dynamo::lifecycle
