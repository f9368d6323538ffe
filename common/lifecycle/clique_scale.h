#pragma once
// The replicas of what Grove makes for a service. Grove takes them from the PodCliqueSet at creation; after
// that only the scale subresource changes them. Decisions child-Q38, ctl-Q45, ctl-Q67.
//
// What was rendered last for a service are the replicas of its clique or group in the PodCliqueSet, unless
// an annotation of the set has another number: `{"worker":2}` in nvidia.com/dynamo-rendered-replicas, by the
// names of cliques and groups. The set gets the new number before the PodClique does. If somebody else has
// scaled the PodClique, the annotation keeps the earlier number meanwhile, so that a restart of the
// controller between both writes does not make the new number look old. A rendered 0 is recorded, too,
// because Grove makes it a 1 in the set.

#include "common/lifecycle/graph_view.h"
#include "common/render/children.h"
#include "common/render/scale_plan.h"

namespace dynamo::lifecycle {

/// Whether the child of the service keeps a number that somebody else has set through the scale subresource.
/// `service` needs its name, desired replicas and child.
bool isScaledByOthers(const GraphView& view, const ServiceState& service);

/// The plan for the replicas of the child of the service. Leave: nothing is wanted or nothing differs.
render::WritePlan planScale(const GraphView& view, const ServiceState& service, json::Allocator& allocator);

/// Adds the annotation to the PodCliqueSet in `children`, if it has to tell something. `view` shows the
/// objects before they are written.
void recordReplicas(const GraphView& view, render::Children& children);

}  // namespace dynamo::lifecycle
