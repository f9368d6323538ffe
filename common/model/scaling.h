#pragma once
// Which services are scaled by other objects than the graph. `honoursAutoscaling` is
// compatibility.autoscaling of the configuration: the deprecated field `autoscaling` of a service has an
// effect (dec-3).

#include "common/json/value.h"

namespace dynamo::model {

/// The `autoscaling` of a service with a HorizontalPodAutoscaler; nullptr if it gets none.
const json::Value* enabledAutoscaling(const json::Value& service, bool honoursAutoscaling);

/// Whether the service has a DynamoGraphDeploymentScalingAdapter: scalingAdapter is enabled, or
/// enabledAutoscaling() is not nullptr.
bool hasScalingAdapter(const json::Value& service, bool honoursAutoscaling);

}  // namespace dynamo::model
