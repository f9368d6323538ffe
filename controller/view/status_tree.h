#pragma once
// A DynamoGraphDeployment and its objects as a tree. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/time.h"
#include "common/render/context.h"

namespace dynamo::view {

using lifecycle::Time;

struct Counts {
  std::int64_t ready = 0;
  std::int64_t desired = 0;

  bool operator==(const Counts&) const = default;
};

/// An object or a service of the graph.
struct Node {
  std::string kind;  ///< kind of the object, or "service"
  std::string name;
  bool ready = true;
  /// The reason of its readiness (lifecycle/readiness.h, pod_failures.h), or a phase: "Ready", "Unavailable",
  /// "CrashLoop", "Bound".
  std::string state;
  std::string message;  ///< why it is not ready, with the same text as in conditions
  std::optional<Counts> replicas;
  std::optional<Time> created;  ///< nullopt: the object does not exist
  bool earlier = false;         ///< of a worker generation that the graph wants no more
  std::vector<Node> children;
};

/// status.rollingUpdate.
struct RollingUpdateStatus {
  std::string phase;
  std::optional<Time> started;
  std::optional<Time> ended;
  std::vector<std::string> updatedServices;
};

/// status.restart.
struct RestartStatus {
  std::string phase;
  std::string id;
  std::vector<std::string> inProgress;
};

/// A summary of the status of a graph.
struct GraphSummary {
  std::string namespaceName;
  std::string name;
  bool ready = false;     ///< the condition Ready is true and describes the latest spec
  bool observed = false;  ///< the condition Ready describes the latest spec
  bool deleting = false;
  std::string state;    ///< status.state
  std::string status;   ///< status of the condition Ready: "True", "False"; empty if the condition is missing
  std::string reason;   ///< reason of the condition Ready
  std::string message;  ///< message of the condition Ready
  Counts replicas;      ///< sum of all services
  std::optional<Time> created;
  std::optional<RollingUpdateStatus> rollingUpdate;
  std::optional<RestartStatus> restart;
};

GraphSummary summaryOf(const json::Value& graph);

struct GraphTree {
  GraphSummary summary;
  std::vector<Node> nodes;  ///< services by name, then other children of the graph
};

/// Returns the tree of a graph. `objects` contains objects of the namespace in any order; objects that do not
/// belong to the graph are ignored. `context` determines the pathway of a graph without children.
GraphTree treeOf(const json::Value& graph, std::span<const json::Value* const> objects,
                 const render::Context& context, Time now);

}  // namespace dynamo::view
