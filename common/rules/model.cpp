// The rules of DynamoModel.

#include <algorithm>
#include <array>

#include "common/field/judge.h"
#include "common/field/template_text.h"
#include "common/k8s/object.h"
#include "common/rules/validators.h"

namespace dynamo::rules {
namespace {

using json::Value;
using k8s::specOf;

/// Where workers find adapters (decision ctl-Q85).
constexpr std::array<std::string_view, 3> kSchemes = {"s3://", "hf://", "file:///"};

std::string_view typeOf(const Value& object) {
  return json::findText(specOf(object), "modelType");
}

void modelNamed(const Write& write, const Report& report) {
  if (json::findText(specOf(write.object), "modelName").empty()) {
    report.required("spec.modelName", "must be the name under which the model is served");
  }
}

void baseModelNamed(const Write& write, const Report& report) {
  if (json::findText(specOf(write.object), "baseModelName").empty()) {
    report.required("spec.baseModelName",
                    "must be the name in modelRef of the services that serve the model");
  }
}

void loraSource(const Write& write, const Report& report) {
  if (typeOf(write.object) != "lora") return;
  const Value* source = json::findObject(specOf(write.object), "source");
  if (source == nullptr) return report.required("spec.source", "must be set when modelType is lora");
  const std::string_view uri = json::findText(source, "uri");
  if (uri.empty()) return report.required("spec.source.uri", "must be set when modelType is lora");
  const auto begins = [&](std::string_view scheme) { return uri.starts_with(scheme); };
  if (std::any_of(kSchemes.begin(), kSchemes.end(), begins)) return;
  report.invalid("spec.source.uri", uri, R"(must start with "s3://", "hf://" or "file:///")");
}

void sourceHasPath(const Write& write, const Report& report) {
  const std::string_view uri = json::findText(json::findObject(specOf(write.object), "source"), "uri");
  if (std::find(kSchemes.begin(), kSchemes.end(), uri) == kSchemes.end()) return;
  report.warn("spec.source.uri", "has no path after the scheme");
}

void namesReplaced(const Write& write, const Report& report) {
  const Value* spec = specOf(write.object);
  for (const std::string_view name : {"modelName", "baseModelName"}) {
    const std::string forgotten = field::notReplaced(json::findText(spec, name));
    if (!forgotten.empty()) report.warn(Path{"spec"} / name, forgotten);
  }
}

bool changed(const Write& write, std::string_view field) {
  return write.old != nullptr &&
         json::findText(specOf(*write.old), field) != json::findText(specOf(write.object), field);
}

void typeImmutable(const Write& write, const Report& report) {
  if (changed(write, "modelType")) {
    report.invalid("spec.modelType", typeOf(write.object), "field is immutable");
  }
}

void baseModelImmutable(const Write& write, const Report& report) {
  const std::string_view name = json::findText(specOf(write.object), "baseModelName");
  if (!name.empty() && changed(write, "baseModelName")) {
    report.invalid("spec.baseModelName", name, "field is immutable");
  }
}

void warnTypeChange(const Write& write, const Report& report) {
  if (changed(write, "modelType"))
    report.warn("spec.modelType", "a model of another type needs its own DynamoModel");
}

void warnBaseModelChange(const Write& write, const Report& report) {
  if (changed(write, "baseModelName")) {
    report.warn("spec.baseModelName", "the endpoints of another base model will be used");
  }
}

constexpr std::array kChecks = {
    Check<Write>{{"model.name-required", Severity::Error, "a model has a name"}, modelNamed},
    Check<Write>{{"model.base-required", Severity::Error, "a model has a base model"}, baseModelNamed},
    Check<Write>{
        {"model.lora-source", Severity::Error, "a lora model has a source, s3://, hf:// or file:///"},
        loraSource},
    Check<Write>{{"model.source-named", Severity::Warning, "the URI of a source has a path after its scheme"},
                 sourceHasPath},
    Check<Write>{
        {"model.template", Severity::Warning, "the names of a model are no templates or placeholders"},
        namesReplaced},
    Check<Write>{{"model.type-immutable", Severity::Lock, "modelType is immutable"}, typeImmutable},
    Check<Write>{{"model.base-immutable", Severity::Lock, "baseModelName is immutable"}, baseModelImmutable},
    Check<Write>{
        {"model.type-change", Severity::Warning, "a model of another type needs its own DynamoModel"},
        warnTypeChange},
    Check<Write>{
        {"model.base-change", Severity::Warning, "a change of baseModelName selects other endpoints"},
        warnBaseModelChange},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

Findings validateModel(const Write& write) {
  return judgeBy(kChecks, write);
}

std::span<const Rule> modelRules() {
  return kRules;
}

}  // namespace dynamo::rules
