#include "common/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "common/commands/check.h"
#include "common/commands/convert.h"
#include "common/commands/effective.h"
#include "common/commands/rules.h"

namespace dynamo::commands {
namespace {

void addOutput(CLI::App& command, std::string& output, const std::vector<std::string>& formats,
               const char* about) {
  command.add_option("-o,--output", output, about)->check(CLI::IsMember(formats))->capture_default_str();
}

void addCheck(CLI::App& app, std::function<int()>& run, const Program& program) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "report what admission would answer for manifests");
  addFileFlags(*command, *options);
  addOutput(*command, options->output, {"text", "json", "sarif"}, "text, json or sarif");
  command->callback(
      [&run, options, program] { run = [options, program] { return runCheck(*options, program); }; });
}

CLI::App* addEffective(CLI::App& app, std::function<int()>& run, const Program& program, const char* name,
                       const char* about, int (*runner)(const EffectiveOptions&, const Program&),
                       const std::shared_ptr<EffectiveOptions>& options) {
  CLI::App* command = app.add_subcommand(name, about);
  addFileFlags(*command, *options);
  addOutput(*command, options->output, {"yaml", "json"}, "yaml or json");
  command->callback([&run, options, program, runner] {
    run = [options, program, runner] { return runner(*options, program); };
  });
  return command;
}

void addConvert(CLI::App& app, std::function<int()>& run, const Program& program) {
  const auto options = std::make_shared<ConvertOptions>();
  CLI::App* command =
      app.add_subcommand("convert", "convert DynamoGraphDeploymentRequests to another version");
  addFiles(*command, options->files);
  command->add_option("--to", options->to, "v1alpha1 or v1beta1")->required();
  addOutput(*command, options->output, {"yaml", "json"}, "yaml or json");
  command->callback(
      [&run, options, program] { run = [options, program] { return runConvert(*options, program); }; });
}

void addRules(CLI::App& app, std::function<int()>& run, const Program& program) {
  const auto options = std::make_shared<RulesOptions>();
  CLI::App* command = app.add_subcommand("rules", "list every rule: id, severity, one line");
  command->add_option("--kind", options->kind, "list the rules of one kind, or of schema, render or pod");
  addOutput(*command, options->output, {"text", "json"}, "text or json");
  command->callback(
      [&run, options, program] { run = [options, program] { return runRules(*options, program); }; });
}

void addDefaults(CLI::App& app, std::function<int()>& run) {
  const auto options = std::make_shared<DefaultsOptions>();
  CLI::App* command = app.add_subcommand("defaults", "print the defaults of component types");
  command->add_option("--component", options->component, "print one component type only");
  command->add_option("--config", options->configFile,
                      "OperatorConfiguration file whose defaults are merged over the built-in ones");
  command->callback([&run, options] { run = [options] { return runDefaults(*options); }; });
}

}  // namespace

void addFiles(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("-f,--filename", files,
                  "manifest, directory of manifests, or - for standard input; repeatable")
      ->required()
      ->allow_extra_args(false);
}

void addFileFlags(CLI::App& command, FileOptions& options) {
  addFiles(command, options.files);
  command.add_option("-n,--namespace", options.namespaceName, "namespace of objects without one")
      ->capture_default_str();
  command.add_option("--config", options.configFile, "OperatorConfiguration file");
  command.add_option("--facts", options.factsFile, "file with the facts of a cluster (YAML or JSON)");
  command.add_option("--operator-version", options.operatorVersion, "Dynamo platform version")
      ->capture_default_str();
  command.add_option("--pathway", options.pathway, "auto, deployment, lws or grove")
      ->check(CLI::IsMember({"auto", "deployment", "lws", "grove"}))
      ->capture_default_str();
}

void addOfflineCommands(CLI::App& app, std::function<int()>& run, const Program& program) {
  addCheck(app, run, program);
  addConvert(app, run, program);
  const auto effective = std::make_shared<EffectiveOptions>();
  addEffective(app, run, program, "effective", "print manifests as admission would store them", runEffective,
               effective)
      ->add_flag("--all", effective->all, "add the defaults that admission leaves to rendering");
  addEffective(app, run, program, "intent", "print stored objects without what the webhook wrote", runIntent,
               std::make_shared<EffectiveOptions>());
  addRules(app, run, program);
  addDefaults(app, run);
}

}  // namespace dynamo::commands
