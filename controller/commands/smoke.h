#pragma once
// `dynamo-controller smoke`: checks that an installation works. It is the Job of the chart. Decision ctl-Q92.

#include <functional>
#include <string>

#include "controller/kube/rest_config.h"

namespace CLI {
class App;
}

namespace dynamo::controller {

struct SmokeOptions {
  std::string namespaceName;  ///< empty: that of the pod or of the kubeconfig context
  /// As in the operator's configuration. With "warn" nothing is denied, so that check is left out.
  std::string validationMode = "strict";
  std::string timeout = "120s";
  kube::RestConfigFlags cluster;
};

/// Creates objects in a dry run and checks the answers (controller/install/smoke_check.h). Waits for what an
/// installation has not finished yet. Nothing is stored, and the only right that it needs is to create
/// DynamoGraphDeployments and DynamoGraphDeploymentRequests.
///
/// Returns the exit status: 0 if all checks have passed, 1 otherwise.
int runSmoke(const SmokeOptions& options);

/// Adds the command to `app`. Parsing it sets `run` to a function that runs it.
void addSmoke(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::controller
