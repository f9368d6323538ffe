#pragma once
// A DynamoGraphDeployment and what is observed of its children, all borrowed.

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

namespace dynamo::lifecycle {

/// Children are what the API server answered to the writes of this pass, else what the cache has: a view
/// older than our own writes would take what is about to change for ready.
struct GraphView {
  const json::Value& graph;       ///< as stored, with schema defaults
  bool grove = false;             ///< the pathway (pathway.h)
  std::string_view workerHash{};  ///< render::workerHash of the intent; not read where Grove is used
  render::FactsView facts;        ///< its checkpoints are read

  std::span<const json::Value* const> components{};  ///< DynamoComponentDeployments
  const json::Value* podCliqueSet = nullptr;
  std::span<const json::Value* const> podCliques{};
  std::span<const json::Value* const> scalingGroups{};  ///< PodCliqueScalingGroups
  /// Pods of the namespace or less: those of other graphs are passed over.
  std::span<const json::Value* const> pods{};
};

/// A service and the child that runs it.
struct ServiceState {
  std::string_view name;  ///< key of spec.services
  const json::Value* spec = nullptr;
  bool worker = false;
  std::string_view kind;  ///< of the child: DynamoComponentDeployment, PodClique, PodCliqueScalingGroup
  std::string childName;
  const json::Value* child = nullptr;  ///< nullptr: not there
  std::optional<std::int64_t> wanted;  ///< replicas, where the graph names a number
  Readiness readiness;
};

/// Every service of the graph, sorted by name. Services that are null have no child, and are not ready.
std::vector<ServiceState> serviceStates(const GraphView& view);

/// The DynamoComponentDeployments that the graph controls and nobody deletes.
std::vector<const json::Value*> ownComponents(const GraphView& view);

/// The restart that the child of a service carries out or has carried out; empty: none.
std::string_view restartOf(const GraphView& view, const ServiceState& service);

}  // namespace dynamo::lifecycle
