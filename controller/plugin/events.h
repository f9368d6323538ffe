#pragma once
// `kubectl dynamo events`: the Events of an object and of everything that belongs to it.

#include "controller/plugin/session.h"

namespace dynamo::plugin {

struct EventsOptions : TargetOptions {
  bool warnings = false;       ///< only those of type Warning
  std::string color = "auto";  ///< "always", "never"
};

/// Prints the Events, oldest first. Returns the exit status: 0; 2 not found or an error.
int runEvents(const EventsOptions& options);

}  // namespace dynamo::plugin
