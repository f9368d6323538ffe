#pragma once
// The text for wrong arguments of a program.

#include <string>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace dynamo::commands {

/// Returns the text for an error of parsing, for CLI::App::failure_message. A word in place of a command is
/// named, with the command that it may be a misspelling of; CLI11 only says that a command is missing.
std::string usageError(const CLI::App* app, const CLI::Error& error);

}  // namespace dynamo::commands
