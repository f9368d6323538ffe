#pragma once
// Plans the children of an object after a change, and the changes of the live children.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"
#include "common/render/context.h"
#include "controller/view/child_changes.h"

namespace dynamo::view {

/// The children of one object.
struct OwnedChildren {
  json::Document owner;  ///< the object as it will be stored
  render::Children children;
  /// A worker generation that its graph does not want (lifecycle/outdated_generation.h): its children that
  /// exist are kept, and its Deployment is only scaled.
  bool outdated = false;
};

/// Returns the children of a DynamoGraphDeployment or DynamoComponentDeployment, then the children of its
/// component deployments. `root` is the object as it will be stored, with a uid. `observed` contains the live
/// objects of the namespace in any order, for a component deployment also its graph.
std::vector<OwnedChildren> planChildren(const json::Value& root, std::span<const json::Value* const> observed,
                                        const render::Context& context, lifecycle::Time now);

/// Returns the changes that a plan makes. `observed` must contain the live object of each planned child, with
/// managedFields, and all live children of kinds that are deleted when they are no longer rendered
/// (render/child_kinds.h). `manager` is the field manager of the controller.
std::vector<ChildChange> changesOf(const std::vector<OwnedChildren>& plan,
                                   std::span<const json::Value* const> observed, std::string_view manager);

}  // namespace dynamo::view
