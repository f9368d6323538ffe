#include "controller/plugin/command_line.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "common/commands/command_line.h"
#include "controller/commands/cluster_flags.h"
#include "controller/plugin/change.h"
#include "controller/plugin/credentials/exec_runner.h"
#include "controller/plugin/diff.h"
#include "controller/plugin/events.h"
#include "controller/plugin/logs.h"
#include "controller/plugin/render.h"
#include "controller/plugin/status.h"
#include "controller/plugin/why.h"

namespace dynamo::plugin {
namespace {

void addColor(CLI::App& command, std::string& color) {
  command.add_option("--color", color, "auto (on a terminal, unless NO_COLOR is set), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

/// Unlike the operator, this program also runs the credential plugins of kubeconfig files, and finds the
/// cluster in the same order as kubectl, which `logs` runs.
void addCluster(CLI::App& command, kube::RestConfigFlags& flags) {
  flags.execRunner = runExecPlugin;
  flags.homeFirst = true;
  controller::addClusterFlags(command, flags);
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
  addCluster(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runStatus(*options); }; });
}

void addTarget(CLI::App& command, TargetOptions& options, const char* about) {
  command.add_option("name", options.name, about)->required();
  command.add_option("-n,--namespace", options.namespaceName,
                     "namespace; by default that of the kubeconfig context");
  addCluster(command, options.cluster);
}

constexpr const char* kAnyTarget =
    "NAME of a DynamoGraphDeployment, else of a request, model or checkpoint; or KIND/NAME with dgd, dgdr, "
    "dm or dckpt";

void addWhy(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<WhyOptions>();
  CLI::App* command = app.add_subcommand(
      "why",
      "say the one cause why an object is not ready, and what to do; exit status 0: ready, 1: not ready");
  addTarget(*command, *options, kAnyTarget);
  command->add_option("-o,--output", options->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  addColor(*command, options->color);
  command->callback([&run, options] { run = [options] { return runWhy(*options); }; });
}

void addEvents(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand("events", "list the Events of an object and of what belongs to it");
  addTarget(*command, *options, kAnyTarget);
  command->add_flag("--warnings", options->warnings, "only Events of type Warning");
  addColor(*command, options->color);
  command->callback([&run, options] { run = [options] { return runEvents(*options); }; });
}

constexpr const char* kGraphTarget = "NAME of a DynamoGraphDeployment";

void addLogs(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<LogsOptions>();
  CLI::App* command = app.add_subcommand(
      "logs", "print the logs of all pods of a graph or of one of its services, after the name of the pod");
  addTarget(*command, *options, kGraphTarget);
  command->add_option("service", options->service, "one service; by default all");
  command->add_option("-c,--container", options->container, "one container; by default all");
  command->add_flag("-f,--follow", options->follow, "print new lines of these pods until Ctrl-C");
  command->add_flag("-p,--previous", options->previous,
                    "the last run of containers that have been restarted");
  command->add_option("--tail", options->tail, "how many of the last lines of each container; -1: all")
      ->capture_default_str();
  command->callback([&run, options] { run = [options] { return runLogs(*options); }; });
}

void addRestart(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<RestartOptions>();
  CLI::App* command = app.add_subcommand("restart",
                                         "restart all services of a graph as its spec.restart.strategy says, "
                                         "or replace the pods of one service");
  addTarget(*command, *options, kGraphTarget);
  command->add_option("service", options->service, "one service; by default all");
  command->callback([&run, options] { run = [options] { return runRestart(*options); }; });
}

void addScale(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<ScaleOptions>();
  CLI::App* command = app.add_subcommand(
      "scale", "set the replicas of a service: through its scaling adapter if it has one, else in the graph");
  addTarget(*command, *options, kGraphTarget);
  command->add_option("service", options->service, "the service")->required();
  command->add_option("replicas", options->replicas, "how many replicas")
      ->required()
      ->check(CLI::NonNegativeNumber);
  command->callback([&run, options] { run = [options] { return runScale(*options); }; });
}

void addDiff(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff",
                                         "show what applying manifests would change in the children of a "
                                         "live cluster; exit status 0: nothing, 1: "
                                         "something, 2: an error");
  command
      ->add_option("-f,--filename", options->files,
                   "manifest, directory of manifests, or - for standard input; repeatable")
      ->required()
      ->allow_extra_args(false);
  command->add_option("-n,--namespace", options->namespaceName,
                      "namespace of objects without one; by default that of the kubeconfig context");
  command->add_option("--config", options->configFile, "OperatorConfiguration file of the controller");
  addColor(*command, options->color);
  addCluster(*command, options->cluster);
  command->callback([&run, options] { run = [options] { return runDiff(*options); }; });
}

void addRender(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<RenderOptions>();
  CLI::App* command = app.add_subcommand("render", "print the children of manifests, offline");
  commands::addFileFlags(*command, *options);
  command->get_option("--config")
      ->description(
          "OperatorConfiguration file; planners and endpoint pickers get a ServiceAccount and a RoleBinding "
          "only "
          "if it names their ClusterRoles (rbac)");
  command->add_option("-o,--output", options->output, "yaml, json or tree")
      ->check(CLI::IsMember({"yaml", "json", "tree"}))
      ->capture_default_str();
  command->callback([&run, options] { run = [options] { return runRender(*options); }; });
}

}  // namespace

void addCommands(CLI::App& app, std::function<int()>& run) {
  addStatus(app, run);
  addWhy(app, run);
  addEvents(app, run);
  addLogs(app, run);
  addRestart(app, run);
  addScale(app, run);
  addDiff(app, run);
  addRender(app, run);
}

}  // namespace dynamo::plugin
