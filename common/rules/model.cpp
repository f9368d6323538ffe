// DynamoModel.

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
    report.required("spec.modelName", "the name under which the model is served");
  }
}

void baseModelNamed(const Request& request, const Report& report) {
  if (json::findText(specOf(request.object), "baseModelName").empty()) {
    report.required("spec.baseModelName", "the name in modelRef of the services that serve it");
  }
}

void loraSource(const Request& request, const Report& report) {
  if (typeOf(request.object) != "lora") return;
  const Value* source = json::findObject(specOf(request.object), "source");
  if (source == nullptr) return report.required("spec.source", "a lora model is loaded from there");
  const std::string_view uri = json::findText(source, "uri");
  if (uri.empty()) return report.required("spec.source.uri", "a lora model is loaded from there");
  if (uri.starts_with("s3://") || uri.starts_with("hf://")) return;
  report.invalid("spec.source.uri", uri, R"(must start with "s3://" or "hf://")");
}

void sourceNamed(const Request& request, const Report& report) {
  const std::string_view uri = json::findText(json::findObject(specOf(request.object), "source"), "uri");
  if (uri != "s3://" && uri != "hf://") return;
  report.warn("spec.source.uri", "names nothing after the scheme");
}

bool changed(const Request& request, std::string_view field) {
  return request.old != nullptr &&
         json::findText(specOf(*request.old), field) != json::findText(specOf(request.object), field);
}

void typeLocked(const Request& request, const Report& report) {
  if (changed(request, "modelType")) {
    report.invalid("spec.modelType", typeOf(request.object), "field is immutable");
  }
}

void baseModelLocked(const Request& request, const Report& report) {
  const std::string_view name = json::findText(specOf(request.object), "baseModelName");
  if (!name.empty() && changed(request, "baseModelName")) {
    report.invalid("spec.baseModelName", name, "field is immutable");
  }
}

void typeMatters(const Request& request, const Report& report) {
  if (changed(request, "modelType")) report.warn("spec.modelType", "another type is another model");
}

void baseModelMatters(const Request& request, const Report& report) {
  if (changed(request, "baseModelName")) {
    report.warn("spec.baseModelName", "endpoints of another base model would be used");
  }
}

constexpr std::array kChecks = {
    Check<Request>{{"model.name-required", Severity::Error, "a model has a name"}, modelNamed},
    Check<Request>{{"model.base-required", Severity::Error, "a model has a base model"}, baseModelNamed},
    Check<Request>{{"model.lora-source", Severity::Error, "a lora model has a source, s3:// or hf://"},
                   loraSource},
    Check<Request>{{"model.source-named", Severity::Warning, "a source names something after its scheme"},
                   sourceNamed},
    Check<Request>{{"model.type-immutable", Severity::Lock, "modelType may not change"}, typeLocked},
    Check<Request>{{"model.base-immutable", Severity::Lock, "baseModelName may not change"}, baseModelLocked},
    Check<Request>{{"model.type-change", Severity::Warning, "another type is another model"}, typeMatters},
    Check<Request>{{"model.base-change", Severity::Warning, "another base model has other endpoints"},
                   baseModelMatters},
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
