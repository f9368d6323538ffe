#include "common/admission/create.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/admission/admit.h"
#include "common/admission/dgdr.h"
#include "common/admission/field_advice.h"
#include "common/admission/implied.h"
#include "common/admission/intended.h"
#include "common/admission/kinds.h"
#include "common/admission/metadata.h"
#include "common/admission/templates.h"
#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/k8s/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using json::Value;

constexpr std::string_view kUnknownField = "schema.unknown-field";
constexpr std::string_view kValidNamespace = "x";

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

/// The object as the API server sends it to the webhook.
Value sentToWebhook(const schema::Node& node, const Value& object, std::string_view namespaceName,
                    json::Allocator& allocator) {
  Value made = json::copy(object, allocator);
  schema::applySchemaDefaults(node, made, allocator);
  k8s::ensureNamespace(made, namespaceName, allocator);
  ensureName(made, allocator);
  json::remove(made, "status");  // a CREATE drops the status
  return made;
}

/// Admits a DynamoGraphDeploymentRequest of either version. The API server converts a v1alpha1 object to
/// v1beta1 for the webhook and converts the defaulted object back.
void createDgdr(const schema::Node& node, const Value& object, std::string_view namespaceName,
                const Settings& settings, json::Allocator& allocator, Created& created) {
  const Value sent = sentToWebhook(node, object, namespaceName, allocator);
  const std::string_view version = json::findText(&object, "apiVersion");
  if (conversion::convertDgdr(sent, api::kV1beta1, created.admitted, allocator)) {
    created.stored = json::share(object, allocator);
    return;
  }
  if (const schema::Node* hub = schema::find(api::kV1beta1, api::kDynamoGraphDeploymentRequest)) {
    schema::applySchemaDefaults(*hub, created.admitted, allocator);
  }
  const std::string_view client = version.substr(version.find('/') + 1);
  applyDgdrDefaults(created.admitted, client, settings.operatorVersion, allocator);
  created.findings = validateDgdr({created.admitted, nullptr, client, settings.dgdr});
  // Cannot fail: every object of a known version can be converted.
  static_cast<void>(conversion::convertDgdr(created.admitted, version, created.stored, allocator));
}

void createOther(const schema::Node& node, const Value& object, std::string_view namespaceName,
                 const Settings& settings, json::Allocator& allocator, Created& created) {
  created.admitted = sentToWebhook(node, object, namespaceName, allocator);
  const Request request{.kind = json::findText(&object, "kind"), .namespaceName = namespaceName};
  created.findings = mutate(created.admitted, request, settings, allocator).findings;
  created.findings.add(judge(created.admitted, request, settings));
  created.stored = json::share(created.admitted, allocator);
}

bool contains(const std::vector<field::FieldError>& errors, const field::FieldError& error) {
  return std::any_of(errors.begin(), errors.end(),
                     [&](const auto& e) { return e.type == error.type && e.field == error.field; });
}

/// The errors of the schema. Only v1alpha1 requests are validated as they are stored, because conversion may
/// supply required fields.
std::vector<field::FieldError> schemaErrors(const schema::Node& node, const Value& object,
                                            const Value& validated, json::Allocator& allocator) {
  std::vector<field::FieldError> errors;
  for (field::FieldError& error : schema::validate(node, validated)) {
    if (error.rule != kUnknownField) errors.push_back(std::move(error));
  }
  Value given = json::share(object, allocator);
  json::remove(given, "status");  // a CREATE drops the status
  for (field::FieldError& error : schema::wrongTypes(node, given)) {
    if (!contains(errors, error)) errors.push_back(std::move(error));
  }
  return errors;
}

}  // namespace

Created create(const schema::Node& node, const Value& object, std::string_view namespaceName,
               const Settings& settings, json::Allocator& allocator) {
  Created created;
  const std::string_view kind = json::findText(&object, "kind");
  const std::string_view apiVersion = json::findText(&object, "apiVersion");
  Intended intended{node, kind, apiVersion.substr(apiVersion.find('/') + 1), object, allocator};
  const Value& meant = intended.object();
  if (json::findText(json::find(meant, "metadata"), "namespace").empty() && !namespaceName.empty()) {
    for (field::FieldError& error : namespaceErrors(namespaceName)) {
      intended.errors().push_back(std::move(error));
      namespaceName = kValidNamespace;
    }
  }
  const bool dgdr = kind == api::kDynamoGraphDeploymentRequest;
  (dgdr ? createDgdr : createOther)(node, meant, namespaceName, settings, allocator, created);
  const bool converted = dgdr && apiVersion != api::kV1beta1;
  std::vector<field::FieldError> errors =
      schemaErrors(node, meant, converted ? created.stored : meant, allocator);
  // The schema can only name the map of services.
  if (std::any_of(created.findings.errors.begin(), created.findings.errors.end(),
                  [](const field::FieldError& error) { return error.rule == "dgd.service-null"; })) {
    std::erase_if(errors,
                  [](const field::FieldError& error) { return error.rule == "schema.cel.service-not-null"; });
  }
  for (field::FieldError& error : created.findings.errors) {
    if (!contains(errors, error)) errors.push_back(std::move(error));
  }
  if (kind == api::kDynamoGraphDeployment) explainServices(errors);
  created.findings.errors = std::move(errors);
  intended.tellAtManifest(created.findings);
  for (field::FieldError& error : intended.errors()) created.findings.error(std::move(error));
  dropFollowing(created.findings);
  tellTemplates(object, created.findings);
  created.findings.sort();
  return created;
}

}  // namespace dynamo::admission
