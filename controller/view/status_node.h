#pragma once
// The node of one object in the tree of a graph, without its children.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/view/status_tree.h"

namespace dynamo::view {

/// Objects that determine the readiness of another object.
struct Related {
  const json::Value* podGroup = nullptr;      ///< the PodGroup of a LeaderWorkerSet
  const json::Value* podCliqueSet = nullptr;  ///< the owner of a PodClique or a PodCliqueScalingGroup
  std::optional<std::int64_t> desired = {};   ///< replicas of the service that the clique runs
};

Node nodeOf(const json::Value& object, const Related& related, Time now);

/// Returns the node of an object that should exist but does not.
Node missingNode(std::string_view kind, std::string_view name);

/// The state of an object that may exist, but of a kind that the user may not list.
inline constexpr std::string_view kUnknown = "Unknown";

/// Gives the state kUnknown to nodes that are missing only because the user may not list their kinds, and to
/// services with such children. `kinds` are all kinds that the user may not list.
void markUnlisted(std::vector<Node>& nodes, std::span<const std::string> kinds);

}  // namespace dynamo::view
