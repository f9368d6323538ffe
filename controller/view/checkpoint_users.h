#pragma once
// The graphs that use a checkpoint.

#include <span>
#include <string>
#include <vector>

#include "common/json/value.h"

namespace dynamo::view {

/// A graph, and its services that take or restore the checkpoint.
struct CheckpointUser {
  const json::Value* graph = nullptr;
  std::vector<std::string> services;
};

/// Returns the users among `objects` by the name of the graph. The status of a graph names its checkpoints.
/// Without one, checkpointRef and identity of its services do.
std::vector<CheckpointUser> usersOf(const json::Value& checkpoint,
                                    std::span<const json::Value* const> objects);

/// Returns the hash of the checkpoint's identity: of its status, else of its spec.
std::string identityHashOf(const json::Value& checkpoint);

}  // namespace dynamo::view
