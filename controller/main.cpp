// Turns flags into options and runs the command.

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "controller/commands/cluster_commands.h"
#include "controller/commands/copy_output.h"
#include "controller/commands/render.h"
#include "controller/commands/run.h"

namespace {

using namespace dynamo;

constexpr int kUsage = 2;

void addRender(CLI::App& app, std::function<int()>& run, controller::RenderOptions& options) {
  CLI::App* command = app.add_subcommand("render", "print the children of manifests, offline");
  command->add_option("-f,--filename", options.files, "manifest, or - for standard input; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("-n,--namespace", options.namespaceName, "namespace of objects without one")
      ->capture_default_str();
  command->add_option("--config", options.configFile,
                      "OperatorConfiguration file; planners and endpoint pickers get a ServiceAccount and a "
                      "RoleBinding only if "
                      "it names their ClusterRoles (rbac)");
  command->add_option("--facts", options.factsFile, "file with the facts of a cluster (YAML or JSON)");
  command->add_option("--operator-version", options.operatorVersion, "Dynamo platform version")
      ->capture_default_str();
  command->add_option("--pathway", options.pathway, "auto, deployment, lws or grove")
      ->check(CLI::IsMember({"auto", "deployment", "lws", "grove"}))
      ->capture_default_str();
  command->add_option("-o,--output", options.output, "yaml, json or tree")
      ->check(CLI::IsMember({"yaml", "json", "tree"}))
      ->capture_default_str();
  command->callback([&] { run = [&options] { return controller::runRender(options); }; });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The controller of NVIDIA Dynamo resources.", "dynamo-controller"};
  app.set_version_flag("--version", std::string{"dynamo-controller "} + DYNAMO_VERSION);
  app.require_subcommand(1);
  std::function<int()> run;
  controller::RenderOptions render;
  addRender(app, run, render);
  controller::RunOptions runOptions;
  controller::addRun(app, run, runOptions);
  controller::addClusterCommands(app, run);
  controller::addCopyOutput(app, run);
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
