#pragma once
// `dynamo-controller render`: what the controller would make of manifests, without a cluster.

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

/// Prints every child of each DynamoGraphDeployment (those of its DynamoComponentDeployments included),
/// DynamoComponentDeployment and DynamoCheckpoint. What depends on settings without default, such as accounts
/// bound to the configured ClusterRoles, needs a configuration. 0: rendered; 1: a component cannot be
/// rendered, told on standard error; 2: unreadable input.
int runRender(const RenderOptions& options);

}  // namespace dynamo::controller
