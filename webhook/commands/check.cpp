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

/// Sets a name where only generateName is given: the API server appends five characters to it.
void ensureName(Value& object, json::Allocator& allocator) {
  constexpr std::string_view kEnd = "xxxxx";
  constexpr std::size_t kMaxPrefixLength = 63 - kEnd.size();
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  const std::string_view prefix = json::findText(&metadata, "generateName");
  if (prefix.empty() || !json::findText(&metadata, "name").empty()) return;
  const std::string name = std::string{prefix.substr(0, kMaxPrefixLength)}.append(kEnd);
  json::set(metadata, "name", json::string(name, allocator), allocator);
}

/// The object as the API server sends it to the webhook on CREATE.
Value simulateCreate(const schema::Node& node, const Value& object, const std::string& namespaceName,
                     json::Allocator& allocator) {
  Value made = json::copy(object, allocator);
  schema::applySchemaDefaults(node, made, allocator);
  k8s::ensureNamespace(made, namespaceName, allocator);
  ensureName(made, allocator);
  json::remove(made, "status");  // a CREATE drops the status
  return made;
}

/// The findings of the rules, and the object that the API server validates against the schema afterwards.
struct CheckedObject {
  field::Findings rules;
  Value stored;
};

/// Checks a DynamoGraphDeploymentRequest of either version. The API server converts a v1alpha1 object to
/// v1beta1 for the webhook and converts the defaulted object back. Only the result is validated against the
/// schema, so defaults may supply required fields.
CheckedObject checkRequest(const schema::Node& node, const Value& object, const std::string& namespaceName,
                           const Policy& policy, json::Allocator& allocator) {
  CheckedObject checked;
  const Value request = simulateCreate(node, object, namespaceName, allocator);
  const std::string_view version = json::findText(&object, "apiVersion");
  Value hub;
  if (conversion::convertDgdr(request, api::kV1beta1, hub, allocator)) {
    checked.stored = json::share(object, allocator);
    return checked;
  }
  if (const schema::Node* hubNode = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest)) {
    schema::applySchemaDefaults(*hubNode, hub, allocator);
  }
  const std::string_view client = version.substr(version.find('/') + 1);
  applyDgdrDefaults(hub, client, policy.operatorVersion, allocator);
  checked.rules = admission::validateRequest({hub, nullptr, client, policy.dgdr});
  if (version == api::kV1beta1) {
    checked.stored = json::share(object, allocator);
  } else {
    // Cannot fail: every object of a known version can be converted.
    static_cast<void>(conversion::convertDgdr(hub, version, checked.stored, allocator));
  }
  return checked;
}

/// Checks an object of any other kind, as a CREATE of the defaulted object would be validated.
field::Findings checkOtherKind(const schema::Node& node, const Value& object,
                               const std::string& namespaceName, const Policy& policy) {
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value defaulted = simulateCreate(node, object, namespaceName, allocator);
  const auto settings = policy.settings->get();
  defaults::applyComponentDefaults(
      defaulted, nullptr, {settings->defaults, settings->config, policy.operatorVersion, namespaceName},
      allocator);
  return admission::validate({json::findText(&object, "kind"), defaulted, nullptr, {}}, *settings);
}

FileFinding makeFinding(const text::Manifest& manifest, const field::Path& field) {
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
  FileFinding finding = makeFinding(manifest, error.field);
  finding.rule = error.rule;
  finding.message = error.body();
  findings.push_back(std::move(finding));
}

void addWarning(const text::Manifest& manifest, const field::Warning& warning,
                std::vector<FileFinding>& findings) {
  FileFinding finding = makeFinding(manifest, warning.field);
  finding.isError = false;
  finding.rule = warning.rule;
  finding.message = warning.text;
  findings.push_back(std::move(finding));
}

/// Whether errors of this rule stay errors with `validation.mode: warn`, because the API server or the
/// operator itself reports them.
bool ignoresWarnMode(std::string_view rule) {
  return rule.starts_with("schema.") || rule.starts_with("config-");
}

bool contains(const std::vector<field::FieldError>& errors, const field::FieldError& error) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const auto& e) { return e.type == error.type && e.field == error.field; });
}

/// The findings of an object of one of Dynamo's kinds.
field::Findings checkObject(const schema::Node& node, const text::Manifest& manifest,
                            const std::string& namespaceName, const Policy& policy) {
  const Value& object = manifest.object;
  json::Document document;
  auto& allocator = document.GetAllocator();
  const bool request = manifest.kind() == api::kDynamoGraphDeploymentRequest;
  CheckedObject checked;
  if (request) {
    checked = checkRequest(node, object, namespaceName, policy, allocator);
  } else {
    if (const admission::Kind* kind = admission::findKind(manifest.kind());
        kind != nullptr && kind->judge != nullptr) {
      checked.rules = checkOtherKind(node, object, namespaceName, policy);
    }
    checked.stored = json::share(object, allocator);
  }
  field::Findings all;
  // Unknown fields are reported for the object as written, because pruning removes them from the stored one.
  for (field::FieldError& error : schema::validate(node, object)) {
    if (error.rule == kUnknownField) all.errors.push_back(std::move(error));
  }
  for (field::FieldError& error : schema::validate(node, checked.stored)) {
    if (error.rule != kUnknownField) all.errors.push_back(std::move(error));
  }
  Value given = json::share(object, allocator);
  json::remove(given, "status");  // a CREATE drops the status
  const auto add = [&](std::vector<field::FieldError>&& errors) {
    for (field::FieldError& error : errors) {
      if (!contains(all.errors, error)) all.errors.push_back(std::move(error));
    }
  };
  add(schema::wrongTypes(node, given));
  add(std::move(checked.rules.errors));
  all.warnings = std::move(checked.rules.warnings);
  all.sort();
  return all;
}

}  // namespace

bool checkManifest(const text::Manifest& manifest, const std::string& namespaceName, const Policy& policy,
                   std::vector<FileFinding>& findings) {
  const ManifestKind kind = classifyManifest(manifest);
  field::Findings found;
  switch (kind.category) {
    case ManifestKind::Category::OtherGroup:
      return false;
    case ManifestKind::Category::Invalid:
      found.errors = kind.errors;
      break;
    case ManifestKind::Category::Configuration: {
      config::LoadResult loaded = config::loadConfigObject(manifest.object, manifest.positions, manifest.file,
                                                           config::Purpose::Check);
      found.errors = std::move(loaded.errors);
      found.warnings = std::move(loaded.warnings);
      break;
    }
    case ManifestKind::Category::Dynamo:
      found = checkObject(*kind.node, manifest, namespaceName, policy);
      break;
  }
  for (const field::FieldError& error : found.errors) addError(manifest, error, findings);
  for (const field::Warning& warning : found.warnings) addWarning(manifest, warning, findings);
  return true;
}

int runCheck(const CheckOptions& options) {
  const std::optional<Policy> policy = loadPolicy(options, config::Purpose::Check, std::cerr);
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
      finding.isError = finding.isError && ignoresWarnMode(finding.rule);
  }
  std::cout << (options.output == "json"    ? toJson(summary)
                : options.output == "sarif" ? toSarif(summary)
                                            : toText(summary))
            << std::flush;
  if (!manifests.errors.empty() || !std::cout) return 2;
  return summary.errors() == 0 ? 0 : 1;
}

}  // namespace dynamo::webhook
