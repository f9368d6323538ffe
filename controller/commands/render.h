#pragma once
// `dynamo-controller render`: prints the children that the controller would create, without a cluster.

#include <string>
#include <vector>

namespace dynamo::controller {

struct RenderOptions {
  std::vector<std::string> files;
  std::string namespaceName = "default";
  std::string configFile;
  std::string factsFile;
  std::string operatorVersion = "1.0.0";
  std::string pathway = "auto";
  std::string output = "yaml";
};

/// Prints all children of each DynamoGraphDeployment, DynamoComponentDeployment and DynamoCheckpoint,
/// including the children of a graph's component deployments. Children that depend on settings without a
/// default, such as ServiceAccounts bound to configured ClusterRoles, require a configuration.
///
/// Returns the exit status: 0 for success; 1 if a component cannot be rendered, with the reason on standard
/// error; 2 if the input cannot be read.
int runRender(const RenderOptions& options);

}  // namespace dynamo::controller
