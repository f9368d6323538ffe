#pragma once
// status.services and status.checkpoints of a graph.

#include <span>

#include "common/lifecycle/graph_view.h"

namespace dynamo::lifecycle {

/// The replicas of each service; null when no service has a status. `rolling`: the counts include old worker
/// generations.
json::Value servicesStatus(const GraphView& view, std::span<const ServiceState> services, bool rolling,
                           json::Allocator& allocator);

/// The checkpoint of each service that uses one; null when no service does.
json::Value checkpointsStatus(const GraphView& view, std::span<const ServiceState> services,
                              json::Allocator& allocator);

}  // namespace dynamo::lifecycle
