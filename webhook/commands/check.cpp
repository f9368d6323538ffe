#include "webhook/commands/check.h"

#include <algorithm>
#include <iostream>

#include "common/admission/request.h"
#include "common/api/kinds.h"
#include "common/config/load.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/apply.h"
#include "common/k8s/object.h"
#include "common/render/facts.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"
#include "webhook/commands/settings.h"

namespace dynamo::webhook {
namespace {

using json::Value;

/// The API server ends a generated name with five characters.
void ensureName(Value& object, json::Allocator& allocator) {
  constexpr std::string_view kEnd = "xxxxx";
  constexpr std::size_t kMostOfPrefix = 63 - kEnd.size();
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  const std::string_view prefix = json::findText(&metadata, "generateName");
  if (prefix.empty() || !json::findText(&metadata, "name").empty()) return;
  const std::string name = std::string{prefix.substr(0, kMostOfPrefix)}.append(kEnd);
  json::set(metadata, "name", json::string(name, allocator), allocator);
}

/// What the API server would make of a new object.
Value created(const schema::Node& node, const Value& object, const std::string& space,
              json::Allocator& allocator) {
  Value made = json::copy(object, allocator);
  schema::applyDefaults(node, made, allocator);
  k8s::ensureNamespace(made, space, allocator);
  ensureName(made, allocator);
  json::remove(made, "status");  // a create drops it
  return made;
}

/// The findings of the rules of a DynamoGraphDeploymentRequest of either version.
validation::Findings dgdrFindings(const schema::Node& node, const Value& object, const std::string& space,
                                  const Policy& policy) {
  json::Document document;
  auto& allocator = document.GetAllocator();
  const Value request = created(node, object, space, allocator);
  const std::string version{json::findText(&object, "apiVersion")};
  Value hub;
  if (const auto error = conversion::convertDgdr(request, api::kV1beta1, hub, allocator)) return {};
  if (const schema::Node* hubNode = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest)) {
    schema::applyDefaults(*hubNode, hub, allocator);
  }
  return admission::validateRequest(
      {hub, nullptr, std::string_view{version}.substr(version.find('/') + 1), policy.dgdr});
}

/// The findings of every other kind, as a CREATE of the defaulted object would be judged.
validation::Findings otherFindings(const schema::Node& node, const Value& object, const std::string& space,
                                   const Policy& policy) {
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value defaulted = created(node, object, space, allocator);
  const auto settings = policy.settings->get();
  defaults::applyDefaults(defaulted, nullptr,
                          {settings->defaults, settings->config, policy.operatorVersion, space}, allocator);
  return admission::validate({json::findText(&object, "kind"), defaulted, nullptr, {}}, *settings);
}

FileFinding located(const config::Manifest& manifest, const std::string& field) {
  FileFinding finding;
  finding.file = manifest.file == "-" ? "stdin" : manifest.file;
  finding.at = manifest.locate(field);
  finding.kind = manifest.kind();
  finding.name = manifest.name().empty() ? "(no name)" : std::string{manifest.name()};
  finding.field = field;
  return finding;
}

void addError(const config::Manifest& manifest, const validation::FieldError& error,
              std::vector<FileFinding>& findings) {
  FileFinding finding = located(manifest, error.field);
  finding.rule = error.rule;
  finding.message = error.body();
  findings.push_back(std::move(finding));
}

void addWarning(const config::Manifest& manifest, const validation::Warning& warning,
                std::vector<FileFinding>& findings) {
  FileFinding finding = located(manifest, warning.field);
  finding.isError = false;
  finding.rule = warning.rule;
  finding.message = warning.text;
  findings.push_back(std::move(finding));
}

/// Whether both paths name one field: the schema's errors have ".Worker" where the rules have "[Worker]".
bool samePath(std::string_view a, std::string_view b) {
  const auto skipBracket = [](std::string_view& path) {
    while (path.starts_with(']')) path.remove_prefix(1);
  };
  const auto plain = [](char c) { return c == '[' ? '.' : c; };
  while (true) {
    skipBracket(a);
    skipBracket(b);
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (plain(a.front()) != plain(b.front())) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
}

bool known(const std::vector<validation::FieldError>& errors, const validation::FieldError& error) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const auto& e) { return e.type == error.type && samePath(e.field, error.field); });
}

}  // namespace

bool checkManifest(const config::Manifest& manifest, const std::string& namespaceName, const Policy& policy,
                   std::vector<FileFinding>& findings) {
  const Value& object = manifest.object;
  const std::string_view version = json::findText(&object, "apiVersion");
  if (!version.starts_with("nvidia.com/")) return false;
  const schema::Node* node = schema::find(version, manifest.kind());
  if (node == nullptr) {
    std::string kinds;
    for (const schema::KindVersion& entry : schema::kindVersions()) {
      kinds += (kinds.empty() ? "" : ", ") + std::string{entry.kind} + " " + std::string{entry.version};
    }
    addError(manifest,
             {validation::ErrorType::NotSupported, "kind", validation::showValue(manifest.kind()),
              "supported values: " + kinds, "schema.kind"},
             findings);
    return true;
  }
  validation::Findings all;
  all.errors = schema::validate(*node, object);
  json::Document document;
  Value given = json::share(object, document.GetAllocator());
  json::remove(given, "status");  // a create drops it
  for (validation::FieldError& error : schema::wrongTypes(*node, given)) {
    if (!known(all.errors, error)) all.errors.push_back(std::move(error));
  }
  const bool request = manifest.kind() == api::kDynamoGraphDeploymentRequest;
  if (request || admission::hasRules(manifest.kind())) {
    validation::Findings rules = request ? dgdrFindings(*node, object, namespaceName, policy)
                                         : otherFindings(*node, object, namespaceName, policy);
    for (validation::FieldError& error : rules.errors) {
      if (!known(all.errors, error)) all.errors.push_back(std::move(error));
    }
    all.warnings = std::move(rules.warnings);
  }
  all.sort();
  for (const validation::FieldError& error : all.errors) addError(manifest, error, findings);
  for (const validation::Warning& warning : all.warnings) addWarning(manifest, warning, findings);
  return true;
}

int runCheck(const CheckOptions& options) {
  const std::optional<config::OperatorConfig> config = config::loadForCommand(options.configFile, std::cerr);
  if (!config) return 2;
  if (const std::string problem = config::operatorVersionProblem(options.operatorVersion); !problem.empty()) {
    std::cerr << "dynamo-webhook: " << problem << '\n';
    return 2;
  }
  render::Facts facts;
  if (!options.factsFile.empty()) {
    if (const std::string error = render::loadFacts(options.factsFile, facts); !error.empty()) {
      std::cerr << "dynamo-webhook: " << error << '\n';
      return 2;
    }
  }
  const Policy policy = makePolicy(*config, options.operatorVersion, {}, std::move(facts));
  const config::Manifests manifests = config::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << "dynamo-webhook: " << error << '\n';
  Summary summary;
  for (const config::Manifest& manifest : manifests.objects) {
    const bool ours = checkManifest(manifest, options.namespaceName, policy, summary.findings);
    ++(ours ? summary.objects : summary.skipped);
  }
  if (policy.warnOnly) {
    for (FileFinding& finding : summary.findings)
      finding.isError = finding.isError && finding.rule.starts_with("schema.");
  }
  std::cout << (options.output == "json"    ? toJson(summary)
                : options.output == "sarif" ? toSarif(summary)
                                            : toText(summary))
            << std::flush;
  if (!manifests.errors.empty() || !std::cout) return 2;
  return summary.errors() == 0 ? 0 : 1;
}

}  // namespace dynamo::webhook
