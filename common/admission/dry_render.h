#pragma once
// The last step of admission: renders what the controller would create and asks whether an API server would
// take its pods (what else children have of the user's is judged by rules of its own: names, Ingress,
// claims). What it would not is told at the user's field.

#include "common/field/finding.h"
#include "common/render/context.h"

namespace dynamo::admission {

/// Of a DynamoGraphDeployment, over every pathway that configuration and annotations leave possible: errors
/// when none works, warnings when some do not.
field::Findings dryRenderGraph(const json::Value& graph, const render::Context& context);

/// Of a standalone DynamoComponentDeployment.
field::Findings dryRenderComponentDeployment(const json::Value& deployment, const render::Context& context);

/// A component of several nodes without replicas has no LeaderWorkerSet: what is wrong with its pods refuses
/// nothing yet, so it becomes a warning. Of a graph or a component deployment.
void warnOfSetsOfNone(const json::Value& object, const render::Context& context, field::Findings& findings);

/// Of a DynamoCheckpoint: its pod template and the Job made of it.
field::Findings dryRenderCheckpoint(const json::Value& checkpoint, const render::Context& context);

}  // namespace dynamo::admission
