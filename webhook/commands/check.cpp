#include "webhook/commands/check.h"

#include <algorithm>
#include <iostream>

#include "common/admission/kinds.h"
#include "common/admission/request.h"
#include "common/api/kinds.h"
#include "common/config/load.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/apply.h"
#include "common/k8s/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"
#include "webhook/commands/manifest_kind.h"

namespace dynamo::webhook {
namespace {

using json::Value;

constexpr std::string_view kUnknownField = "schema.unknown-field";

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

/// Findings of rules, and what of the object the API server holds against its schema after that.
struct Judged {
  field::Findings rules;
  Value stored;
};

/// A DynamoGraphDeploymentRequest of either version. One of v1alpha1 goes to the webhook as v1beta1 and comes
/// back with its defaults: what it lacked may be there then, and only that is held against the schema.
Judged judgeRequest(const schema::Node& node, const Value& object, const std::string& space,
                    const Policy& policy, json::Allocator& allocator) {
  Judged judged;
  const Value request = created(node, object, space, allocator);
  const std::string_view version = json::findText(&object, "apiVersion");
  Value hub;
  if (conversion::convertDgdr(request, api::kV1beta1, hub, allocator)) {
    judged.stored = json::share(object, allocator);
    return judged;
  }
  if (const schema::Node* hubNode = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest)) {
    schema::applyDefaults(*hubNode, hub, allocator);
  }
  const std::string_view client = version.substr(version.find('/') + 1);
  defaultRequest(hub, client, policy.operatorVersion, allocator);
  judged.rules = admission::validateRequest({hub, nullptr, client, policy.dgdr});
  if (version == api::kV1beta1) {
    judged.stored = json::share(object, allocator);
  } else {
    // As every object of a known version, it converts.
    static_cast<void>(conversion::convertDgdr(hub, version, judged.stored, allocator));
  }
  return judged;
}

/// The findings of every other kind, as a CREATE of the defaulted object would be judged.
field::Findings otherFindings(const schema::Node& node, const Value& object, const std::string& space,
                              const Policy& policy) {
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value defaulted = created(node, object, space, allocator);
  const auto settings = policy.settings->get();
  defaults::applyDefaults(defaulted, nullptr,
                          {settings->defaults, settings->config, policy.operatorVersion, space}, allocator);
  return admission::validate({json::findText(&object, "kind"), defaulted, nullptr, {}}, *settings);
}

FileFinding located(const text::Manifest& manifest, const field::Path& field) {
  FileFinding finding;
  finding.file = manifest.file == "-" ? "stdin" : manifest.file;
  finding.at = manifest.locate(field);
  finding.kind = manifest.kind();
  finding.name = manifest.name().empty() ? "(no name)" : std::string{manifest.name()};
  finding.field = field.text();
  return finding;
}

void addError(const text::Manifest& manifest, const field::FieldError& error,
              std::vector<FileFinding>& findings) {
  FileFinding finding = located(manifest, error.field);
  finding.rule = error.rule;
  finding.message = error.body();
  findings.push_back(std::move(finding));
}

void addWarning(const text::Manifest& manifest, const field::Warning& warning,
                std::vector<FileFinding>& findings) {
  FileFinding finding = located(manifest, warning.field);
  finding.isError = false;
  finding.rule = warning.rule;
  finding.message = warning.text;
  findings.push_back(std::move(finding));
}

/// What validation.mode: warn does not soften: the API server and the operator itself refuse it.
bool isOfServer(std::string_view rule) {
  return rule.starts_with("schema.") || rule.starts_with("config-");
}

bool known(const std::vector<field::FieldError>& errors, const field::FieldError& error) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const auto& e) { return e.type == error.type && e.field == error.field; });
}

/// Of one object of our kinds.
field::Findings findingsOf(const schema::Node& node, const text::Manifest& manifest,
                           const std::string& namespaceName, const Policy& policy) {
  const Value& object = manifest.object;
  json::Document document;
  auto& allocator = document.GetAllocator();
  const bool request = manifest.kind() == api::kDynamoGraphDeploymentRequest;
  Judged judged;
  if (request) {
    judged = judgeRequest(node, object, namespaceName, policy, allocator);
  } else {
    if (const admission::Kind* kind = admission::findKind(manifest.kind());
        kind != nullptr && kind->judge != nullptr) {
      judged.rules = otherFindings(node, object, namespaceName, policy);
    }
    judged.stored = json::share(object, allocator);
  }
  field::Findings all;
  // Unknown fields are those of what was written, as no schema keeps them.
  for (field::FieldError& error : schema::validate(node, object)) {
    if (error.rule == kUnknownField) all.errors.push_back(std::move(error));
  }
  for (field::FieldError& error : schema::validate(node, judged.stored)) {
    if (error.rule != kUnknownField) all.errors.push_back(std::move(error));
  }
  Value given = json::share(object, allocator);
  json::remove(given, "status");  // a create drops it
  const auto add = [&](std::vector<field::FieldError>&& errors) {
    for (field::FieldError& error : errors) {
      if (!known(all.errors, error)) all.errors.push_back(std::move(error));
    }
  };
  add(schema::wrongTypes(node, given));
  add(std::move(judged.rules.errors));
  all.warnings = std::move(judged.rules.warnings);
  all.sort();
  return all;
}

}  // namespace

bool checkManifest(const text::Manifest& manifest, const std::string& namespaceName, const Policy& policy,
                   std::vector<FileFinding>& findings) {
  const ManifestKind kind = kindOf(manifest);
  field::Findings found;
  switch (kind.is) {
    case ManifestKind::Is::Foreign:
      return false;
    case ManifestKind::Is::Wrong:
      found.errors = kind.errors;
      break;
    case ManifestKind::Is::Configuration: {
      config::LoadResult loaded = config::loadConfigObject(manifest.object, manifest.positions, manifest.file,
                                                           config::Purpose::Check);
      found.errors = std::move(loaded.errors);
      found.warnings = std::move(loaded.warnings);
      break;
    }
    case ManifestKind::Is::Ours:
      found = findingsOf(*kind.node, manifest, namespaceName, policy);
      break;
  }
  for (const field::FieldError& error : found.errors) addError(manifest, error, findings);
  for (const field::Warning& warning : found.warnings) addWarning(manifest, warning, findings);
  return true;
}

int runCheck(const CheckOptions& options) {
  const std::optional<Policy> policy = policyOf(options, config::Purpose::Check, std::cerr);
  if (!policy) return 2;
  const text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << "dynamo-webhook: " << error << '\n';
  Summary summary;
  for (const text::Manifest& manifest : manifests.objects) {
    const bool ours = checkManifest(manifest, options.namespaceName, *policy, summary.findings);
    ++(ours ? summary.objects : summary.skipped);
  }
  if (policy->warnOnly) {
    for (FileFinding& finding : summary.findings)
      finding.isError = finding.isError && isOfServer(finding.rule);
  }
  std::cout << (options.output == "json"    ? toJson(summary)
                : options.output == "sarif" ? toSarif(summary)
                                            : toText(summary))
            << std::flush;
  if (!manifests.errors.empty() || !std::cout) return 2;
  return summary.errors() == 0 ? 0 : 1;
}

}  // namespace dynamo::webhook
