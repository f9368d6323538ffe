#include "webhook/commands/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <span>
#include <vector>

#include "common/admission/request.h"
#include "common/admission/validate.h"
#include "common/api/kinds.h"
#include "common/config/load.h"
#include "common/json/build.h"
#include "common/json/yaml_writer.h"
#include "common/podrules/pod.h"
#include "common/validation/dgdr.h"
#include "common/validation/graph.h"

namespace dynamo::webhook {
namespace {

using validation::Rule;
using validation::Severity;

constexpr std::array<Rule, 11> kSchemaRules = {{
    {"schema.kind", Severity::Error, "the kind and version exist"},
    {"schema.unknown-field", Severity::Error, "every field is known (kubectl refuses others in strict mode)"},
    {"schema.type", Severity::Error, "every value has its type"},
    {"schema.required", Severity::Error, "required fields are there"},
    {"schema.enum", Severity::Error, "a value is one of those that are listed"},
    {"schema.bounds", Severity::Error, "numbers and lengths keep their bounds"},
    {"schema.pattern", Severity::Error, "a text has its form"},
    {"schema.duplicate", Severity::Error, "keys of list maps and items of sets stand once"},
    {"schema.embedded", Severity::Error, "an embedded object has apiVersion and kind"},
    {"schema.metadata", Severity::Error, "metadata is well-formed"},
    {"schema.cel", Severity::Error, "the schema's own rules hold (schema.cel.<rule>)"},
}};

struct Group {
  std::string_view name;
  std::span<const Rule> rules;
};

std::span<const Rule> requestRules() {
  static const std::vector<Rule> kRules = [] {
    std::vector<Rule> rules{validation::dgdrRules().begin(), validation::dgdrRules().end()};
    rules.insert(rules.end(), admission::requestRules().begin(), admission::requestRules().end());
    return rules;
  }();
  return kRules;
}

std::vector<Group> groups() {
  return {{"schema", kSchemaRules},
          {api::kDynamoGraphDeployment, validation::dgdRules()},
          {api::kDynamoComponentDeployment, validation::dcdRules()},
          {api::kDynamoGraphDeploymentScalingAdapter, validation::scalingAdapterRules()},
          {api::kDynamoModel, validation::modelRules()},
          {api::kDynamoCheckpoint, validation::checkpointRules()},
          {api::kDynamoGraphDeploymentRequest, requestRules()},
          {"render", admission::renderRules()},
          {"pod", podrules::podRules()}};
}

std::string_view severityOf(const Rule& rule) {
  return rule.severity == Severity::Warning ? "warning" : "error";
}

void printText(const std::vector<Group>& all) {
  for (const Group& group : all) {
    std::cout << group.name << '\n';
    for (const Rule& rule : group.rules) {
      std::cout << fmt::format("  {:<36} {:<8} {}\n", rule.id, severityOf(rule), rule.summary);
    }
  }
}

void printJson(const std::vector<Group>& all) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value list = make.list();
  for (const Group& group : all) {
    for (const Rule& rule : group.rules) {
      make.push(list, make.object("id", rule.id, "severity", severityOf(rule), "about", group.name, "summary",
                                  rule.summary));
    }
  }
  std::cout << json::dump(list) << '\n';
}

}  // namespace

int runRules(const RulesOptions& options) {
  std::vector<Group> all = groups();
  if (!options.kind.empty()) {
    std::erase_if(all, [&](const Group& group) { return group.name != options.kind; });
    if (all.empty()) {
      std::cerr << "dynamo-webhook: no rules about \"" << options.kind << "\"; known:";
      for (const Group& group : groups()) std::cerr << ' ' << group.name;
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
  // The page as it is written, comments included, unless a site changed it.
  if (config->defaults == nullptr && options.component.empty()) {
    std::cout << defaults::builtInDefaults();
    return std::cout.flush() ? 0 : 2;
  }
  const defaults::ComponentDefaults page{config->defaults.get()};
  std::cout << json::toYaml(options.component.empty() ? page.page() : page.of(options.component));
  return std::cout.flush() ? 0 : 2;
}

}  // namespace dynamo::webhook
