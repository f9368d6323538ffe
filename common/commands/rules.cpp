#include "common/commands/rules.h"

#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "common/admission/rules.h"
#include "common/config/load.h"
#include "common/json/build.h"
#include "common/model/component_defaults.h"
#include "common/text/yaml_writer.h"

namespace dynamo::commands {
namespace {

using admission::RuleGroup;
using field::Rule;

std::string_view severityOf(const Rule& rule) {
  return rule.severity == field::Severity::Warning ? "warning" : "error";
}

void printText(const std::vector<RuleGroup>& all) {
  for (const RuleGroup& group : all) {
    std::cout << group.about << '\n';
    for (const Rule& rule : group.rules) {
      std::cout << fmt::format("  {:<36} {:<8} {}\n", rule.id, severityOf(rule), rule.summary);
    }
  }
}

void printJson(const std::vector<RuleGroup>& all) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value list = make.list();
  for (const RuleGroup& group : all) {
    for (const Rule& rule : group.rules) {
      make.push(list, make.object("id", rule.id, "severity", severityOf(rule), "about", group.about,
                                  "summary", rule.summary));
    }
  }
  std::cout << json::dump(list) << '\n';
}

}  // namespace

int runRules(const RulesOptions& options, const Program& program) {
  std::vector<RuleGroup> all = admission::ruleGroups();
  if (!options.kind.empty()) {
    std::erase_if(all, [&](const RuleGroup& group) { return group.about != options.kind; });
    if (all.empty()) {
      std::cerr << program.name << ": no rules about \"" << options.kind << "\"; known:";
      for (const RuleGroup& group : admission::ruleGroups()) std::cerr << ' ' << group.about;
      std::cerr << '\n';
      return 2;
    }
  }
  (options.output == "json" ? printJson : printText)(all);
  return std::cout.flush() ? 0 : 2;
}

int runDefaults(const DefaultsOptions& options) {
  const std::optional<config::OperatorConfig> config = config::loadForCommand(options.configFile, std::cerr);
  if (!config) return 2;
  // Without changes by the configuration, print the built-in file including its comments.
  if (config->defaults == nullptr && options.component.empty()) {
    std::cout << model::builtInDefaults();
    return std::cout.flush() ? 0 : 2;
  }
  const model::ComponentDefaults page{config->defaults.get()};
  std::cout << text::toYaml(options.component.empty() ? page.merged() : page.of(options.component));
  return std::cout.flush() ? 0 : 2;
}

}  // namespace dynamo::commands
