#pragma once
// The last step of admission: renders the children that the controller would create and applies the pod rules
// to them. Errors are reported at the user's field. The rules of graphs check other fields of children, such
// as names, Ingresses and claims.

#include "common/field/finding.h"
#include "common/render/context.h"

namespace dynamo::admission {

/// For a DynamoGraphDeployment, on every pathway that the configuration and annotations allow. Findings are
/// errors when no pathway works, and warnings when only some do not.
field::Findings dryRenderGraph(const json::Value& graph, const render::Context& context);

/// For a standalone DynamoComponentDeployment.
field::Findings dryRenderComponentDeployment(const json::Value& deployment, const render::Context& context);

/// Turns errors of multinode components with `replicas: 0` into warnings, because no LeaderWorkerSet is
/// created for them yet. For a graph or a component deployment.
void warnZeroReplicas(const json::Value& object, const render::Context& context, field::Findings& findings);

/// For a DynamoCheckpoint: its pod template and the Job created from it.
field::Findings dryRenderCheckpoint(const json::Value& checkpoint, const render::Context& context);

}  // namespace dynamo::admission
