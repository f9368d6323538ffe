#pragma once
// The command-line options of the commands that need no cluster.

#include <functional>
#include <string>
#include <vector>

#include "common/commands/file_options.h"
#include "common/commands/program.h"

namespace CLI {
class App;
}

namespace dynamo::commands {

/// Adds the required option -f.
void addFiles(CLI::App& command, std::vector<std::string>& files);

/// Adds the flags that all commands that read manifests share. `options` must outlive the command.
void addFileFlags(CLI::App& command, FileOptions& options);

/// Adds `check`, `effective`, `intent`, `convert`, `rules` and `defaults` to `app`. Parsing one of them sets
/// `run` to a function that runs it and returns the exit status. `run` must outlive `app`; the texts of
/// `program` must outlive the process's commands.
void addOfflineCommands(CLI::App& app, std::function<int()>& run, const Program& program);

}  // namespace dynamo::commands
