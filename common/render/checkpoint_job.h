#pragma once
// DynamoCheckpoints that the operator creates, and the Job of a checkpoint (quirks pod-Q34, pod-Q35, pod-Q39,
// ctl-Q33).

#include <string_view>

#include "common/render/children.h"

namespace dynamo::render {

/// The name of the Job of a checkpoint begins with this, and the name of the checkpoint follows.
inline constexpr std::string_view kCheckpointJobPrefix = "checkpoint-";

/// The DynamoCheckpoint of a component in mode Auto, if it does not exist yet. It has no owner, because it
/// outlives the graph.
void renderAutoCheckpoint(const Component& component, const Context& context, Children& children);

}  // namespace dynamo::render
