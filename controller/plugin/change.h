#pragma once
// `kubectl dynamo restart` and `kubectl dynamo scale`: one small change of a graph through the API.

#include <cstdint>
#include <string>

#include "controller/plugin/session.h"

namespace dynamo::plugin {

struct RestartOptions : TargetOptions {
  std::string service;  ///< empty: all
};

/// Without a service, sets `spec.restart.id`, which restarts all services as `spec.restart.strategy` says.
/// With a service, sets an annotation of its pods (decision ctl-Q93). Returns the exit status: 0, or 2 for an
/// error.
int runRestart(const RestartOptions& options);

struct ScaleOptions : TargetOptions {
  std::string service;
  std::int32_t replicas = 0;
};

/// Sets the replicas of a service: those of its scaling adapter if it has one, else those in the graph. An
/// adapter that is enabled but missing, or scales another service, is an error: changes of the graph would be
/// refused or undone. Returns the exit status: 0, or 2 for an error.
int runScale(const ScaleOptions& options);

}  // namespace dynamo::plugin
