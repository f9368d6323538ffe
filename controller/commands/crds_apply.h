#pragma once
// `dynamo-controller crds apply`: writes CustomResourceDefinitions. It is the init container of the
// controller. Decisions ctl-Q90, ctl-Q91.

#include <functional>
#include <string>

#include "controller/kube/rest_config.h"

namespace CLI {
class App;
}

namespace dynamo::controller {

struct CrdsApplyOptions {
  std::string directory;
  std::string operatorVersion = "1.0.0";
  std::string timeout = "120s";
  kube::RestConfigFlags cluster;
};

/// Applies the CRDs of all files *.yaml of the directory, in the order of their names, and waits until each
/// is Established. Nothing is written if a file is wrong. Requests that fail for a moment are repeated.
///
/// Returns the exit status: 0 if all CRDs are there, also if newer ones were left alone; 1 otherwise.
int runCrdsApply(const CrdsApplyOptions& options);

/// Adds the command to `app`. Parsing it sets `run` to a function that runs it.
void addCrds(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::controller
