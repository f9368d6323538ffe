#pragma once
// The Events of an object and of what belongs to it. Pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "controller/view/status_text.h"
#include "controller/view/status_tree.h"

namespace dynamo::view {

struct ObjectEvent {
  std::optional<Time> last;
  std::string type;  ///< "Normal", "Warning"
  std::string reason;
  std::string object;  ///< "Pod/llama-worker-0"
  std::string message;
  std::int64_t count = 1;
};

/// Returns those of `events` that are about the object or about what its tree has, oldest first. ReplicaSets
/// and StatefulSets between a workload and its pods are not in the tree, but count. `events` has v1 Events.
std::vector<ObjectEvent> eventsOf(std::span<const json::Value* const> events, std::string_view kind,
                                  std::string_view name, const std::vector<Node>& nodes);

/// Returns a head line and one line per Event.
std::string toText(std::span<const ObjectEvent> events, const TextOptions& options);

}  // namespace dynamo::view
