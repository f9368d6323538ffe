#pragma once
// `check`: reports what admission would answer for manifests, without a cluster.

#include "common/commands/file_options.h"
#include "common/commands/program.h"

namespace dynamo::commands {

struct CheckOptions : FileOptions {
  CheckOptions() { output = "text"; }  ///< "text", "json" or "sarif"
};

/// Prints the findings of each manifest, as a CREATE would be validated. Returns the exit status: 0 without
/// errors, 1 with errors, 2 when a file or the configuration cannot be read.
int runCheck(const CheckOptions& options, const Program& program);

}  // namespace dynamo::commands
