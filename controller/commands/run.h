#pragma once
// `dynamo-controller run`: reconciles the resources of a cluster until a signal stops it.

#include <functional>
#include <string>

#include "common/runtime/log_flags.h"
#include "controller/kube/rest_config.h"

namespace CLI {
class App;
}

namespace dynamo::controller {

struct RunOptions {
  std::string configFile;
  std::string operatorVersion = "1.0.0";
  std::string shard;          ///< "I/N"; empty: all namespaces
  std::string ignoredValues;  ///< paths of values of the chart, for the log
  kube::RestConfigFlags cluster;
  std::string healthListen;   ///< empty: as in the configuration
  std::string metricsListen;  ///< empty: as in the configuration
  runtime::LogFlags log;
};

/// Adds the command and its flags. `options` and `run` must outlive `app`.
void addRun(CLI::App& app, std::function<int()>& run, RunOptions& options);

/// Returns the exit status: 0 after a signal, 1 after an error.
int runController(const RunOptions& options);

}  // namespace dynamo::controller
