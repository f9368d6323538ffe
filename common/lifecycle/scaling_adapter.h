#pragma once
// A DynamoGraphDeploymentScalingAdapter: the replicas that it writes into its graph, and its status.

#include "common/lifecycle/outcome.h"
#include "common/lifecycle/time.h"

namespace dynamo::lifecycle {

/// `graph` is the one that spec.dgdRef names; nullptr: it does not exist (quirk ctl-Q22).
Outcome adapterOutcome(const json::Value& adapter, const json::Value* graph, Time now,
                       json::Allocator& allocator);

/// Of a write of that outcome that the API server refused for good.
Outcome adapterFailure(const json::Value& adapter, const Failure& failure, Time now,
                       json::Allocator& allocator);

}  // namespace dynamo::lifecycle
