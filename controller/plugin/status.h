#pragma once
// `kubectl dynamo status`: shows graphs, requests, models and checkpoints with their objects.

#include <chrono>
#include <optional>
#include <string>

#include "controller/kube/rest_config.h"

namespace dynamo::plugin {

struct StatusOptions {
  std::string name;           ///< NAME or KIND/NAME (status_target.h); empty: one line for each object
  std::string namespaceName;  ///< empty: that of the kubeconfig context
  bool allNamespaces = false;
  bool watch = false;
  std::string timeout;  ///< a duration in Go syntax, only with `watch`; empty: no timeout
  kube::RestConfigFlags cluster;
  std::string output = "text";  ///< or "json"
  std::string color = "auto";   ///< "always", "never"
};

/// Prints the status. With `watch`, prints it again whenever it changes, until a signal arrives. With
/// `timeout`, the watch also ends when all shown objects are ready or the time has passed.
///
/// Returns the exit status: 0 if all shown objects are ready; 1 if one is not ready or none was found;
/// 2 for usage errors and if the cluster cannot be read. Without a timeout, a watch that a signal ends
/// returns 0.
int runStatus(const StatusOptions& options);

}  // namespace dynamo::plugin
