#pragma once
// The argument of `kubectl dynamo status`: which objects it shows, and which objects are read for them.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/plugin/snapshot.h"

namespace dynamo::plugin {

struct StatusTarget {
  std::string kind;  ///< a kind of ours; empty: `name` is that of a graph, or of an object of another kind
  std::string name;  ///< empty: all objects
};

/// Parses NAME or KIND/NAME. KIND is a kind, its plural or its short name, such as "dgdr". The error is one
/// line.
std::variant<StatusTarget, std::string> parseTarget(std::string_view argument);

/// Returns the target with its kind: a DynamoGraphDeployment if one of this name exists, else a request, a
/// model or a checkpoint, in this order. If there is none, or the cluster cannot be read, it is a graph.
runtime::Task<StatusTarget> findTarget(kube::Client& client, std::string namespaceName, StatusTarget target);

/// Returns what is read to show a target, which has a kind or no name.
std::vector<Selection> selectionsFor(const StatusTarget& target);

}  // namespace dynamo::plugin
