// Turns flags into options and runs the command.

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "common/commands/usage.h"
#include "controller/commands/copy_output.h"
#include "controller/commands/crds_apply.h"
#include "controller/commands/moved.h"
#include "controller/commands/run.h"
#include "controller/commands/smoke.h"

namespace {

using namespace dynamo;

constexpr int kUsage = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The controller of NVIDIA Dynamo resources.", "dynamo-controller"};
  app.set_version_flag("--version", std::string{"dynamo-controller "} + DYNAMO_VERSION);
  app.require_subcommand(1);
  app.failure_message(commands::usageError);
  std::function<int()> run;
  controller::RunOptions runOptions;
  controller::addRun(app, run, runOptions);
  controller::addCopyOutput(app, run);
  controller::addCrds(app, run);
  controller::addSmoke(app, run);
  controller::addMovedCommands(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    return run();
  } catch (const std::exception& error) {
    std::cerr << "dynamo-controller: " << error.what() << '\n';
    return kUsage;
  }
}
