#pragma once
// What Grove does not do for a graph, and what the graph therefore tells. Decisions child-Q35, child-Q43.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/lifecycle/graph_view.h"

namespace dynamo::lifecycle {

/// Whether Grove has no replicas for the service although it runs: a service with several nodes is wanted
/// with 0 replicas, which Grove refuses. Its PodCliqueScalingGroup then keeps its number.
bool keepsReplicas(const ServiceState& service);

/// The same for a service of a graph, by the status of the graph.
bool needsOneReplica(const json::Value& graph, std::string_view service);

/// The workers of a replica without which Grove does not start it; nullopt: no service with several nodes on
/// Grove, or its clique does not exist.
std::optional<std::int64_t> workerMinAvailable(const GraphView& view, const ServiceState& service);

/// How the PodCliqueSet that exists differs from a new one, in sentences; empty: not at all.
std::string groveLimits(const GraphView& view);

}  // namespace dynamo::lifecycle
