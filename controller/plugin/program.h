#pragma once
#include <string_view>

#include "common/commands/program.h"

namespace dynamo::plugin {

/// The name in messages, and the version of this build: DYNAMO_VERSION comes from the project() line of
/// CMake.
inline constexpr commands::Program kProgram{"kubectl-dynamo", DYNAMO_VERSION};

}  // namespace dynamo::plugin
