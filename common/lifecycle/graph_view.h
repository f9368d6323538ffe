#pragma once
// A DynamoGraphDeployment and its observed children. Views borrow all objects.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/lifecycle/readiness.h"
#include "common/render/context.h"
#include "common/render/write_plan.h"

namespace dynamo::lifecycle {

/// The status must be computed from the answers of the API server to the writes of this reconcile. The cache
/// may be older than these writes, and a child that is about to change would count as ready.
struct GraphView {
  const json::Value& graph;       ///< as stored, with schema defaults
  bool grove = false;             ///< the pathway (pathway.h)
  std::string_view workerHash{};  ///< the worker generation (worker_hash.h)
  render::FactsView facts;        ///< the checkpoints are read

  std::span<const json::Value* const> components{};  ///< DynamoComponentDeployments
  const json::Value* podCliqueSet = nullptr;
  std::span<const json::Value* const> podCliques{};
  std::span<const json::Value* const> scalingGroups{};  ///< PodCliqueScalingGroups
  /// Pods of the namespace. Pods of other graphs are ignored.
  std::span<const json::Value* const> pods{};
  std::span<const render::WriteNotice> notices{};  ///< of the writes of this reconcile
  /// Applied::contests and Applied::clock
  const render::Contests* contests = nullptr;
  render::Clock::time_point clock{};
};

/// A service and the child that runs it.
struct ServiceState {
  std::string_view name;  ///< key of spec.services
  const json::Value* spec = nullptr;
  bool worker = false;
  std::string_view kind;  ///< of the child: DynamoComponentDeployment, PodClique or PodCliqueScalingGroup
  std::string childName;
  const json::Value* child = nullptr;   ///< nullptr: does not exist
  std::optional<std::int64_t> desired;  ///< spec.replicas of the service
  bool scaledByOthers = false;          ///< the child keeps the number of somebody else (clique_scale.h)
  Readiness readiness;
};

/// All services of the graph, sorted by name. A service that is null has no spec; its child is not ready.
std::vector<ServiceState> serviceStates(const GraphView& view);

/// Whether the component is a worker generation of a graph of this name that was deleted without its
/// children, or restored from a backup without owners: it has the graph's label and name, and no controller.
bool isOrphanedGeneration(const json::Value& component, const json::Value& graph);

/// The DynamoComponentDeployments that the graph controls and orphaned generations, except those that are
/// being deleted.
std::vector<const json::Value*> ownComponents(const GraphView& view);

/// The annotation nvidia.com/restartAt on the child of a service; empty: none.
std::string_view restartOf(const GraphView& view, const ServiceState& service);

}  // namespace dynamo::lifecycle
