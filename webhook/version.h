#pragma once
#include <string_view>

namespace dynamo::webhook {

inline constexpr std::string_view kProgram = "dynamo-webhook";

/// Version of this build; DYNAMO_VERSION comes from the project() line of CMake.
inline constexpr std::string_view kVersion = DYNAMO_VERSION;

}  // namespace dynamo::webhook
