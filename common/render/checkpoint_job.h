#pragma once
// DynamoCheckpoints that the operator creates, and the Job of a checkpoint (quirks pod-Q34, pod-Q35, pod-Q39,
// ctl-Q33).

#include "common/render/children.h"

namespace dynamo::render {

/// The DynamoCheckpoint of a component in mode Auto, if it does not exist yet. It has no owner, because it
/// outlives the graph.
void renderAutoCheckpoint(const Component& component, const Context& context, Children& children);

}  // namespace dynamo::render
