#include "controller/commands/cluster_commands.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "controller/commands/cluster_flags.h"
#include "controller/commands/diff.h"
#include "controller/commands/status.h"

namespace dynamo::controller {
namespace {

void addColor(CLI::App& command, std::string& color) {
  command.add_option("--color", color, "auto (on a terminal, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void addStatus(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<StatusOptions>();
  CLI::App* command = app.add_subcommand(
      "status",
      "show graphs, requests, models and checkpoints, and what runs them; exit status 0: ready, 1: not ready "
      "or not found");
  command->add_option("name", options->name,
                      "NAME of a DynamoGraphDeployment, else of a request, model or checkpoint; or KIND/NAME "
                      "with dgd, dgdr, dm or dckpt; without a name, one line for each");
  command->add_option("-n,--namespace", options->namespaceName,
                      "namespace; by default that of the kubeconfig context");
  command->add_flag("-A,--all-namespaces", options->allNamespaces, "objects of all namespaces");
  command->add_flag("-w,--watch", options->watch, "show the status again whenever it changes");
  command->add_option("--timeout", options->timeout,
                      "with --watch: end when all shown objects are ready, or with exit status 1 after this "
                      "time (90s, 10m)");
  command->add_option("-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  addColor(*command, options->color);
  addClusterFlags(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runStatus(*options); }; });
}

void addDiff(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff",
                                         "show what applying manifests would change in the children of a "
                                         "live cluster; exit status 0: nothing, 1: "
                                         "something, 2: an error");
  command->add_option("-f,--filename", options->files, "manifest, or - for standard input; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("-n,--namespace", options->namespaceName,
                      "namespace of objects without one; by default that of the kubeconfig context");
  command->add_option("--config", options->configFile, "OperatorConfiguration file of the controller");
  addColor(*command, options->color);
  addClusterFlags(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runDiff(*options); }; });
}

}  // namespace

void addClusterCommands(CLI::App& app, std::function<int()>& run) {
  addStatus(app, run);
  addDiff(app, run);
}

}  // namespace dynamo::controller
