#pragma once
// The command-line options of the commands that read a cluster: status and diff.

#include <functional>

namespace CLI {
class App;
}

namespace dynamo::controller {

/// Adds the commands to `app`. Parsing one of them sets `run` to a function that runs it and returns the exit
/// status.
void addClusterCommands(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::controller
