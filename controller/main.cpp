// Wiring only: flags to options, options to a command.

#include <CLI/CLI.hpp>
#include <functional>
#include <iostream>

#include "controller/commands/render.h"

namespace {

using namespace dynamo;

constexpr int kUsage = 2;

void addRender(CLI::App& app, std::function<int()>& run, controller::RenderOptions& options) {
  CLI::App* command = app.add_subcommand("render", "print the children of manifests, offline");
  command->add_option("-f,--filename", options.files, "manifest, or - for standard input; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("-n,--namespace", options.namespaceName, "namespace of objects that name none")
      ->capture_default_str();
  command->add_option(
      "--config", options.configFile,
      "OperatorConfiguration file; planners and endpoint pickers get their ServiceAccount and "
      "RoleBinding only where it names ClusterRoles (rbac)");
  command->add_option("--facts", options.factsFile, "facts of a cluster (YAML or JSON)");
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
