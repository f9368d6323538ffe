#pragma once
// `kubectl dynamo diff`: shows how applying a manifest would change the children in a live cluster.

#include <string>
#include <vector>

#include "controller/kube/rest_config.h"

namespace dynamo::plugin {

struct DiffOptions {
  std::vector<std::string> files;
  std::string namespaceName;  ///< for objects without a namespace; empty: that of the kubeconfig context
  std::string configFile;     ///< configuration of the controller; empty: defaults
  kube::RestConfigFlags cluster;
  std::string color = "auto";  ///< "always", "never"
};

/// Prints how the children of each graph, component deployment, request and checkpoint in the files would
/// change. The API server and its webhooks default and validate the objects in a dry run, as for
/// `kubectl apply`. All requests are reads or dry runs.
///
/// Returns the exit status: 0 if there is no difference, 1 if there is one, 2 for errors.
int runDiff(const DiffOptions& options);

}  // namespace dynamo::plugin
