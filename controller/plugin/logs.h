#pragma once
// `kubectl dynamo logs`: the logs of all pods of a graph or of one of its services.

#include <cstdint>
#include <string>

#include "controller/plugin/session.h"

namespace dynamo::plugin {

struct LogsOptions : TargetOptions {
  std::string service;    ///< empty: all
  std::string container;  ///< empty: all
  bool follow = false;
  bool previous = false;
  std::int64_t tail = 100;  ///< lines of each container; -1: all
};

/// Replaces this program by `kubectl logs` with a selector of the pods. kubectl writes "[pod/NAME/CONTAINER]"
/// before each line. If only some pods have the container, several kubectls may be run, and the other pods
/// are named on the standard error. Otherwise it returns only if kubectl is not run: 1 if there is no pod, 2
/// for an error.
int runLogs(const LogsOptions& options);

}  // namespace dynamo::plugin
