#pragma once
// Renders the objects that scale a service of a graph (dec-3).

#include "common/render/children.h"

namespace dynamo::render {

/// The DynamoGraphDeploymentScalingAdapter of a service, if it has one. With compatibility.autoscaling of the
/// configuration, also the HorizontalPodAutoscaler that scales the adapter.
void renderScaling(const json::Value& graph, const Component& component, const Context& context,
                   Children& children);

}  // namespace dynamo::render
