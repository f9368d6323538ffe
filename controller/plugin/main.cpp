// Turns flags into options and runs the command.

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>
#include <string>

#include "common/commands/command_line.h"
#include "common/commands/usage.h"
#include "controller/plugin/command_line.h"
#include "controller/plugin/program.h"

namespace {

using namespace dynamo;

constexpr int kUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Shows and changes NVIDIA Dynamo resources of a cluster, and shows what manifests would become.",
      "kubectl dynamo"};
  app.set_version_flag("--version", std::string{plugin::kProgram.name} + " " + DYNAMO_VERSION);
  app.require_subcommand(1);
  app.failure_message(commands::usageError);
  std::function<int()> run;
  plugin::addCommands(app, run);
  commands::addOfflineCommands(app, run, plugin::kProgram);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << plugin::kProgram.name << ": " << error.what() << '\n';
    return kUsage;
  }
}
