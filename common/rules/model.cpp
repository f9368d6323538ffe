// The rules of DynamoModel.

#include "common/field/judge.h"
#include "common/k8s/object.h"
#include "common/rules/validators.h"

namespace dynamo::rules {
namespace {

using json::Value;
using k8s::specOf;

std::string_view typeOf(const Value& object) {
  return json::findText(specOf(object), "modelType");
}

void modelNamed(const Request& request, const Report& report) {
  if (json::findText(specOf(request.object), "modelName").empty()) {
    report.required("spec.modelName", "must be the name under which the model is served");
  }
}

void baseModelNamed(const Request& request, const Report& report) {
  if (json::findText(specOf(request.object), "baseModelName").empty()) {
    report.required("spec.baseModelName",
                    "must be the name in modelRef of the services that serve the model");
  }
}

void loraSource(const Request& request, const Report& report) {
  if (typeOf(request.object) != "lora") return;
  const Value* source = json::findObject(specOf(request.object), "source");
  if (source == nullptr) return report.required("spec.source", "must be set when modelType is lora");
  const std::string_view uri = json::findText(source, "uri");
  if (uri.empty()) return report.required("spec.source.uri", "must be set when modelType is lora");
  if (uri.starts_with("s3://") || uri.starts_with("hf://")) return;
  report.invalid("spec.source.uri", uri, R"(must start with "s3://" or "hf://")");
}

void sourceHasPath(const Request& request, const Report& report) {
  const std::string_view uri = json::findText(json::findObject(specOf(request.object), "source"), "uri");
  if (uri != "s3://" && uri != "hf://") return;
  report.warn("spec.source.uri", "has no path after the scheme");
}

bool changed(const Request& request, std::string_view field) {
  return request.old != nullptr &&
         json::findText(specOf(*request.old), field) != json::findText(specOf(request.object), field);
}

void typeImmutable(const Request& request, const Report& report) {
  if (changed(request, "modelType")) {
    report.invalid("spec.modelType", typeOf(request.object), "field is immutable");
  }
}

void baseModelImmutable(const Request& request, const Report& report) {
  const std::string_view name = json::findText(specOf(request.object), "baseModelName");
  if (!name.empty() && changed(request, "baseModelName")) {
    report.invalid("spec.baseModelName", name, "field is immutable");
  }
}

void warnTypeChange(const Request& request, const Report& report) {
  if (changed(request, "modelType"))
    report.warn("spec.modelType", "a model of another type needs its own DynamoModel");
}

void warnBaseModelChange(const Request& request, const Report& report) {
  if (changed(request, "baseModelName")) {
    report.warn("spec.baseModelName", "the endpoints of another base model will be used");
  }
}

constexpr std::array kChecks = {
    Check<Request>{{"model.name-required", Severity::Error, "a model has a name"}, modelNamed},
    Check<Request>{{"model.base-required", Severity::Error, "a model has a base model"}, baseModelNamed},
    Check<Request>{{"model.lora-source", Severity::Error, "a lora model has a source, s3:// or hf://"},
                   loraSource},
    Check<Request>{
        {"model.source-named", Severity::Warning, "the URI of a source has a path after its scheme"},
        sourceHasPath},
    Check<Request>{{"model.type-immutable", Severity::Lock, "modelType is immutable"}, typeImmutable},
    Check<Request>{{"model.base-immutable", Severity::Lock, "baseModelName is immutable"},
                   baseModelImmutable},
    Check<Request>{
        {"model.type-change", Severity::Warning, "a model of another type needs its own DynamoModel"},
        warnTypeChange},
    Check<Request>{
        {"model.base-change", Severity::Warning, "a change of baseModelName selects other endpoints"},
        warnBaseModelChange},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

Findings validateModel(const Request& request) {
  return judgeBy(kChecks, request);
}

std::span<const Rule> modelRules() {
  return kRules;
}

}  // namespace dynamo::rules
