#include "common/admission/metadata.h"

#include <array>
#include <string>

#include "common/field/template_text.h"
#include "common/k8s/names.h"

namespace dynamo::admission {
namespace {

using field::ErrorType;
using field::FieldError;
using field::Path;
using json::Value;

constexpr const char* kRule = "schema.metadata";

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

}  // namespace

std::vector<FieldError> metadataErrors(const Value& object) {
  std::vector<FieldError> errors;
  const Value* metadata = json::findObject(&object, "metadata");
  if (metadata == nullptr) return errors;
  const auto add = [&](Path field, std::string_view shown, std::string detail) {
    if (detail.empty()) return;
    errors.push_back(
        {ErrorType::Invalid, std::move(field), field::showValue(shown), std::move(detail), kRule});
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
    for (const auto& annotation : annotations->GetObject()) {
      const std::string_view key = json::text(annotation.name);
      add(Path{"metadata.annotations"}.key(key), key, reason(key, k8s::annotationKeyProblem(key)));
    }
  }
  return errors;
}

void repairMetadata(Value& object, json::Allocator& allocator) {
  constexpr std::string_view kValid = "x";
  Value* metadata = json::find(object, "metadata");
  if (metadata == nullptr || !metadata->IsObject()) return;
  for (const NameField& each : kNames) {
    const std::string_view text = json::findText(metadata, each.name);
    if (!text.empty() && !each.problem(text).empty())
      json::set(*metadata, each.name, json::string(kValid, allocator), allocator);
  }
  Value* labels = json::find(*metadata, "labels");
  if (labels == nullptr || !labels->IsObject()) return;
  std::vector<std::string> wrong;
  for (const auto& label : labels->GetObject()) {
    if (!labelProblem(json::text(label.name), label.value).empty())
      wrong.emplace_back(json::text(label.name));
  }
  for (const std::string& key : wrong) json::remove(*labels, key);
}

}  // namespace dynamo::admission
