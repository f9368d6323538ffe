#pragma once
// An object with everything that belongs to it.

#include <optional>
#include <variant>

#include "controller/plugin/snapshot.h"
#include "controller/plugin/status_target.h"
#include "controller/view/object_tree.h"
#include "controller/view/status_tree.h"

namespace dynamo::plugin {

using TargetTree = std::variant<view::GraphTree, view::ObjectTree>;

/// Returns the tree of the target, which has a kind and a name, from the objects of the snapshot. Objects of
/// kinds that the user may not list are unknown instead of missing. Returns nullopt if there is no such
/// object.
std::optional<TargetTree> treeOfTarget(const Snapshot& snapshot, const StatusTarget& target, view::Time now);

}  // namespace dynamo::plugin
