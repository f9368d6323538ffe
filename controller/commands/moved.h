#pragma once
// Commands that are now those of the plugin of kubectl.

#include <functional>

namespace CLI {
class App;
}

namespace dynamo::controller {

/// Adds `status`, `diff` and `render`, which are not in the help. Each accepts any arguments, says which
/// command of `kubectl dynamo` to use, and has exit status 2.
void addMovedCommands(CLI::App& app, std::function<int()>& run);

}  // namespace dynamo::controller
