#pragma once
// Runs a program and returns its output. Blocking: call it only through EventLoop::offload.

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dynamo::plugin {

struct Program {
  std::string command;  ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< overrides the environment of the process
  std::chrono::milliseconds timeout{0};
  std::size_t maxOutputBytes = 0;
};

struct ProgramOutput {
  std::string text;
};
struct ProgramError {
  std::string message;    ///< never quotes the output of the program
  bool notFound = false;  ///< the command does not exist
};

/// Returns the standard output of the program if it exits with status 0. Standard input is empty, and
/// standard error is inherited. A program that exceeds its timeout or its output limit is killed together
/// with its process group.
std::variant<ProgramOutput, ProgramError> run(const Program& program);

}  // namespace dynamo::plugin
