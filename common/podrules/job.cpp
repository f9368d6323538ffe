// batch/v1 Jobs (spec/k8s-pod-validation.md section 12).

#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {
namespace {

using json::Value;

void numbers(const Report& report, const Value& spec, const At& at) {
  for (const std::string_view field :
       {"parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "activeDeadlineSeconds",
        "backoffLimitPerIndex", "maxFailedIndexes"}) {
    const Value* given = json::find(spec, field);
    const auto number = integer(given);
    if (number && *number < 0) {
      report.invalid(at / field, *given, "must be greater than or equal to 0", rule::kJobNumber);
    }
  }
  if (integer(json::find(spec, "activeDeadlineSeconds")) == 0) {
    report.warn(at / "activeDeadlineSeconds", "is 0: the Job fails as soon as it starts", rule::kJobDeadline);
  }
}

void selector(const Report& report, const Value& spec, const At& at) {
  for (const std::string_view field : {"selector", "manualSelector"}) {
    if (json::find(spec, field) == nullptr) continue;
    report.forbidden(at / field, "is the Job controller's to set", rule::kJobSelector);
  }
}

void mode(const Report& report, const Value& spec, const At& at) {
  const std::string_view completionMode = json::findText(&spec, "completionMode");
  report.oneOf(at / "completionMode", completionMode, {"Indexed", "NonIndexed"}, rule::kEnum);
  // Without both, both become 1.
  if (completionMode == "Indexed" && json::find(spec, "completions") == nullptr &&
      json::find(spec, "parallelism") != nullptr) {
    report.required(at / "completions", rule::kJobMode, "for completionMode is Indexed");
  }
  const Value* podTemplate = json::findObject(&spec, "template");
  const std::string_view restartPolicy =
      json::findText(json::findObject(podTemplate, "spec"), "restartPolicy");
  if (json::find(spec, "podFailurePolicy") == nullptr || restartPolicy != "OnFailure") return;
  const At templateAt = at / "template";
  const At specAt = templateAt / "spec";
  report.invalid(specAt / "restartPolicy", restartPolicy, "must be Never with podFailurePolicy",
                 rule::kJobMode);
}

}  // namespace

void jobSpec(const Report& report, const Value& spec, const At& at) {
  if (!spec.IsObject()) return;
  numbers(report, spec, at);
  selector(report, spec, at);
  mode(report, spec, at);
  podTemplate(report, json::find(spec, "template"), at / "template", Workload::Job);
}

void checkJobOverride(const Value& jobSpecValue, const std::string& path, validation::Findings& findings) {
  jobSpec(Report{findings, true}, jobSpecValue, At{path});
}

}  // namespace dynamo::podrules
