#pragma once
// `kubectl dynamo why`: the one cause why an object is not ready, and what to do about it.

#include "controller/plugin/session.h"

namespace dynamo::plugin {

struct WhyOptions : TargetOptions {
  std::string output = "text";  ///< or "json"
  std::string color = "auto";   ///< "always", "never"
};

/// Prints the cause, from the same objects as `status`. Returns the exit status: 0 ready, 1 not ready, 2 not
/// found or an error.
int runWhy(const WhyOptions& options);

}  // namespace dynamo::plugin
