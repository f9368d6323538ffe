#pragma once
// status.services and status.checkpoints of a graph.

#include <span>

#include "common/lifecycle/graph_view.h"

namespace dynamo::lifecycle {

/// Replicas of each service; null when there is none to tell of. `rolling`: old generations of workers count,
/// too.
json::Value servicesStatus(const GraphView& view, std::span<const ServiceState> services, bool rolling,
                           json::Allocator& allocator);

/// The checkpoint of each service that uses one; null when none does.
json::Value checkpointsStatus(const GraphView& view, std::span<const ServiceState> services,
                              json::Allocator& allocator);

}  // namespace dynamo::lifecycle
