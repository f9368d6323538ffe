#include "common/admission/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "common/field/template_text.h"
#include "common/k8s/names.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {
namespace {

using field::ErrorType;
using field::FieldError;
using field::Path;
using json::Value;

constexpr const char* kRule = "schema.metadata";
constexpr std::string_view kValid = "x";

/// Generated names only have a prefix in the manifest.
std::string prefixProblem(std::string_view prefix) {
  return k8s::dns1123SubdomainProblem(std::string{prefix}.append("x"));
}

struct NameField {
  std::string_view name;
  std::string (*problem)(std::string_view);
};
constexpr std::array kNames = {NameField{"name", k8s::dns1123SubdomainProblem},
                               NameField{"namespace", k8s::dns1123LabelProblem},
                               NameField{"generateName", prefixProblem}};

std::string labelProblem(std::string_view key, const Value& value) {
  const std::string problem = k8s::qualifiedNameProblem(key);
  return problem.empty() && value.IsString() ? k8s::labelValueProblem(json::text(value)) : problem;
}

/// Why `text` is wrong: what was forgotten, else the problem.
std::string reason(std::string_view text, std::string problem) {
  if (problem.empty()) return problem;
  std::string forgotten = field::notReplaced(text);
  return forgotten.empty() ? problem : forgotten;
}

FieldError invalid(Path field, std::string_view shown, std::string detail) {
  return {ErrorType::Invalid, std::move(field), field::showValue(shown), std::move(detail), kRule};
}

/// The values of wrong types, with paths below metadata.
std::vector<FieldError> wrongTypesIn(const Value& metadata) {
  return schema::wrongTypes(schema::metadataNode(), metadata);
}

/// Whether an error is about the field from which an API server takes or makes the name.
bool concernsName(const FieldError& error) {
  return error.field.empty() || error.field == Path{"name"} || error.field == Path{"generateName"};
}

}  // namespace

std::vector<FieldError> nameErrors(const Value& object) {
  std::vector<FieldError> errors;
  const Value* metadata = json::findObject(&object, "metadata");
  if (metadata == nullptr) return errors;
  const auto add = [&](Path field, std::string_view shown, std::string detail) {
    if (!detail.empty()) errors.push_back(invalid(std::move(field), shown, std::move(detail)));
  };
  for (const NameField& each : kNames) {
    const std::string_view text = json::findText(metadata, each.name);
    if (text.empty()) continue;
    add(Path{"metadata"} / each.name, text, reason(text, each.problem(text)));
  }
  if (const Value* labels = json::findObject(metadata, "labels")) {
    for (const auto& label : labels->GetObject()) {
      const std::string_view key = json::text(label.name);
      const bool badKey = !k8s::qualifiedNameProblem(key).empty();
      const std::string_view shown = badKey ? key : json::text(label.value);
      add(Path{"metadata.labels"}.key(key), shown, reason(shown, labelProblem(key, label.value)));
    }
  }
  if (const Value* annotations = json::findObject(metadata, "annotations")) {
    std::size_t bytes = 0;
    for (const auto& annotation : annotations->GetObject()) {
      const std::string_view key = json::text(annotation.name);
      bytes += key.size() + json::text(annotation.value).size();
      add(Path{"metadata.annotations"}.key(key), key, reason(key, k8s::annotationKeyProblem(key)));
    }
    if (bytes > k8s::kMaxAnnotationBytes) {
      std::string detail = fmt::format("may not be more than {} bytes", k8s::kMaxAnnotationBytes);
      errors.push_back({ErrorType::TooLong, Path{"metadata.annotations"}, {}, std::move(detail), kRule});
    }
  }
  return errors;
}

std::vector<FieldError> metadataErrors(const Value& object) {
  static const Path kMetadata{"metadata"};
  const Value* metadata = json::find(object, "metadata");
  std::vector<FieldError> errors;
  if (metadata != nullptr) errors = wrongTypesIn(*metadata);
  const bool named =
      !json::findText(metadata, "name").empty() || !json::findText(metadata, "generateName").empty();
  const bool tried = std::any_of(errors.begin(), errors.end(), concernsName);
  for (FieldError& error : errors) error.field.prepend(kMetadata);
  if (!named && !tried) {
    errors.push_back(
        {ErrorType::Required, kMetadata / "name", {}, "name or generateName is required", kRule});
  }
  for (FieldError& error : nameErrors(object)) errors.push_back(std::move(error));
  return errors;
}

std::vector<FieldError> namespaceErrors(std::string_view namespaceName) {
  std::string detail = reason(namespaceName, k8s::dns1123LabelProblem(namespaceName));
  if (detail.empty()) return {};
  return {invalid(Path{"metadata.namespace"}, namespaceName, std::move(detail))};
}

void repairMetadata(Value& object, json::Allocator& allocator) {
  Value* metadata = json::find(object, "metadata");
  if (metadata == nullptr) return;
  if (!metadata->IsObject()) metadata->SetObject();
  for (const FieldError& error : wrongTypesIn(*metadata)) {
    const field::PathView path = error.field;
    Value* map = path.rest().empty() ? nullptr : json::find(*metadata, path.front().name);
    if (map != nullptr && map->IsObject()) {
      json::remove(*map, path.rest().front().name);
    } else {
      json::remove(*metadata, path.front().name);
    }
  }
  for (const NameField& each : kNames) {
    const std::string_view text = json::findText(metadata, each.name);
    if (!text.empty() && !each.problem(text).empty())
      json::set(*metadata, each.name, json::string(kValid, allocator), allocator);
  }
  Value* labels = json::find(*metadata, "labels");
  if (labels == nullptr) return;
  std::vector<std::string> wrong;
  for (const auto& label : labels->GetObject()) {
    if (!labelProblem(json::text(label.name), label.value).empty())
      wrong.emplace_back(json::text(label.name));
  }
  for (const std::string& key : wrong) json::remove(*labels, key);
}

}  // namespace dynamo::admission
