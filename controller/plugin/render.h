#pragma once
// `kubectl dynamo render`: prints the children that the controller would create, without a cluster.

#include "common/commands/file_options.h"

namespace dynamo::plugin {

struct RenderOptions : commands::FileOptions {
  RenderOptions() { output = "yaml"; }  ///< "yaml", "json" or "tree"
};

/// Prints all children of each object that has children, including those of a graph's component deployments.
/// Children that depend on settings without a default, such as ServiceAccounts bound to configured
/// ClusterRoles, require a configuration. An object that `check` refuses has no children; its
/// errors are written to the standard error, in the format of `check`.
///
/// Returns the exit status: 0 for success; 1 if an object is refused or a component cannot be rendered, with
/// the reason on standard error; 2 if the input cannot be read.
int runRender(const RenderOptions& options);

}  // namespace dynamo::plugin
