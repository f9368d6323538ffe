#pragma once
#include <string_view>

namespace dynamo::commands {

/// The program that runs a command. Errors and reports name it.
struct Program {
  std::string_view name;
  std::string_view version;
};

}  // namespace dynamo::commands
