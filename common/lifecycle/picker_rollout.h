#pragma once
// Endpoint pickers follow a managed rolling update of workers: they name the new generation once enough of
// its pods are ready, and the last old worker serves until the pickers have been rolled out (decision
// dec-20).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/lifecycle/graph_view.h"
#include "common/lifecycle/rolling_step.h"

namespace dynamo::lifecycle {

/// The worker generation that endpoint pickers name in an update from the generation `from` to
/// view.workerHash: nullopt: the new one. Empty: none, because the old workers have no suffix. Raises
/// `next.oldReplicas` where a picker still needs an old worker. `generations` has all worker generations.
std::optional<std::string> followRollingUpdate(const GraphView& view, std::string_view from,
                                               const std::vector<WorkerGeneration>& generations,
                                               RollingStep& next, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
