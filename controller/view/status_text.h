#pragma once
// Formats the status of objects as text for terminals and as JSON for scripts.

#include <span>
#include <string>

#include "controller/view/object_tree.h"
#include "controller/view/status_tree.h"
#include "controller/view/style.h"

namespace dynamo::view {

struct TextOptions {
  Style style;
  Time now;
  bool ages = true;  ///< false: ages are omitted, to detect whether anything else has changed
};

/// The maximum number of ready pods of one parent that are shown. Pods that are not ready are always shown.
inline constexpr std::size_t kMaxReadyPods = 8;

/// Returns the summary of the graph, followed by its tree with one object per line.
std::string toText(const GraphTree& tree, const TextOptions& options);

std::string toText(const ObjectTree& tree, const TextOptions& options);

/// Returns one line per graph.
std::string toText(std::span<const GraphSummary> graphs, bool allNamespaces, const TextOptions& options);

/// Returns one line per object. All objects have the same kind.
std::string toText(std::span<const ObjectSummary> objects, bool allNamespaces, const TextOptions& options);

/// Returns one line of JSON. All pods are included.
std::string toJson(const GraphTree& tree);
std::string toJson(const ObjectTree& tree);
/// Returns a list of all objects in one line of JSON.
std::string toJson(std::span<const GraphSummary> graphs, std::span<const ObjectSummary> objects = {});

}  // namespace dynamo::view
