#pragma once
// `dynamo-controller copy-output`: stores what the profiler of a DynamoGraphDeploymentRequest has left. It is
// the second container of the profiling Job if `requests.outputCopierCommand` says so. Decisions life-Q11,
// life-Q12.

#include <functional>
#include <string>

#include "controller/kube/rest_config.h"

namespace CLI {
class App;
}

namespace dynamo::controller {

struct CopyOutputOptions {
  std::string request;                 ///< name of the request
  std::string namespaceName;           ///< empty: that of the pod
  std::string pod;                     ///< empty: the variable HOSTNAME
  std::string container = "profiler";  ///< whose end is awaited
  std::string folder = "/data";
  kube::RestConfigFlags cluster;
};

/// Waits until the profiler has ended, then writes its files into the ConfigMap of the request, or why there
/// is no result. Failed requests are repeated.
///
/// Returns the exit status: 0, also if the profiler has failed, because the Job would profile again; 2 for
/// usage errors.
int runCopyOutput(const CopyOutputOptions& options);

/// Adds the command to `app`. Parsing it sets `run` to a function that runs it.
void addCopyOutput(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::controller
