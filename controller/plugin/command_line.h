#pragma once
// The command-line options of the commands.

#include <functional>

namespace CLI {
class App;
}

namespace dynamo::plugin {

/// Adds the commands to `app`. Parsing one of them sets `run` to a function that runs it and returns the exit
/// status.
void addCommands(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::plugin
