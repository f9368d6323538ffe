// Checkpoints of services, and DynamoCheckpoint (quirks dec-7, pod-Q23, pod-Q39, a1-Q1).

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/api/dynamo.h"
#include "common/field/judge.h"
#include "common/k8s/names.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr std::array<std::string_view, 3> kFrameworks = {"sglang", "trtllm", "vllm"};
constexpr std::string_view kJobPrefix = "checkpoint-";

const Value* checkpointOf(const Service& service) {
  return service.checkpointed() ? json::findObject(&service.spec, "checkpoint") : nullptr;
}

// Services

void checkpointsEnabled(const Service& service, const Report& report) {
  if (checkpointOf(service) == nullptr || service.graph.policy.checkpointEnabled) return;
  report.forbidden(service.at("checkpoint.enabled"),
                   "checkpoints are disabled in the operator's configuration (checkpoint.enabled)");
}

void storageRequired(const Service& service, const Report& report) {
  const GraphPolicy& policy = service.graph.policy;
  if (checkpointOf(service) == nullptr || !policy.checkpointEnabled) return;
  const CheckpointStorage& storage = policy.checkpointStorage;
  const bool object = storage.type == "s3" || storage.type == "oci";
  const bool good = object ? !storage.uri.empty() : !storage.pvcName.empty() && !storage.basePath.empty();
  if (good && !object && !k8s::dns1123SubdomainProblem(storage.pvcName).empty()) {
    report.forbidden(
        service.at("checkpoint.enabled"),
        fmt::format("checkpoint.storage.pvc.pvcName of the operator's configuration is not a valid "
                    "name of a claim: {}",
                    showValue(storage.pvcName)));
  }
  if (good) return;
  const std::string_view missing = object ? "uri" : storage.pvcName.empty() ? "pvcName" : "basePath";
  report.forbidden(service.at("checkpoint.enabled"),
                   fmt::format("checkpoint.storage.{}.{} is not set in the operator's configuration",
                               object ? storage.type : "pvc", missing));
}

void notMultinode(const Service& service, const Report& report) {
  if (checkpointOf(service) == nullptr || !service.multinode()) return;
  report.forbidden(service.at("checkpoint"), "a service with several nodes cannot be checkpointed");
}

void sourceRequired(const Service& service, const Report& report) {
  const Value* checkpoint = checkpointOf(service);
  if (checkpoint == nullptr || !json::findText(checkpoint, "checkpointRef").empty()) return;
  const Value* identity = json::findObject(checkpoint, "identity");
  const At field = service.at("checkpoint.identity");
  if (identity == nullptr) return report.required(field, "must specify one of: identity, checkpointRef");
  for (const std::string_view member : {"model", "backendFramework"}) {
    if (json::find(identity, member) != nullptr) continue;
    report.required(field / member, "must be set: it is part of the checkpoint's identity");
  }
  const std::string_view framework = json::findText(identity, "backendFramework");
  if (json::find(identity, "backendFramework") != nullptr &&
      std::find(kFrameworks.begin(), kFrameworks.end(), framework) == kFrameworks.end()) {
    report.notSupported(field / "backendFramework", framework, kFrameworks);
  }
}

/// Whether the operator creates a DynamoCheckpoint for the service when none with its identity exists.
bool isAutomatic(const Value& checkpoint) {
  const std::string_view mode = json::findText(&checkpoint, "mode");
  return json::findText(&checkpoint, "checkpointRef").empty() && (mode.empty() || mode == "Auto");
}

/// The main container of the checkpointed pod is always called `main`, even if the service names it
/// differently (quirk pod-Q39).
void mainNameFree(const Service& service, const Report& report) {
  const Value* checkpoint = checkpointOf(service);
  const std::string_view given = json::findText(service.mainContainer(), "name");
  if (checkpoint == nullptr || !isAutomatic(*checkpoint) || given.empty() || given == api::kMainContainer) {
    return;
  }
  const At pod = service.at("extraPodSpec");
  for (const std::string_view list : {"containers", "initContainers"}) {
    const At containers = pod / list;
    forEachObject(json::find(service.podSpec(), list), [&](const Value& container, std::size_t i) {
      if (json::findText(&container, "name") != api::kMainContainer) return;
      const At at = containers[i];
      report.duplicate(at / "name", api::kMainContainer,
                       "is the name of the main container in the checkpointed pod");
    });
  }
}

constexpr std::array kServiceChecks = {
    ServiceCheck{{"service.checkpoint-disabled", Severity::Error,
                  "checkpoints must be enabled in the operator's configuration"},
                 checkpointsEnabled},
    ServiceCheck{{"service.checkpoint-storage", Severity::Error,
                  "the operator's configuration must have a storage for checkpoints"},
                 storageRequired},
    ServiceCheck{
        {"service.checkpoint-multinode", Severity::Error, "services on several nodes cannot be checkpointed"},
        notMultinode},
    ServiceCheck{
        {"service.checkpoint-source", Severity::Error, "a checkpoint has a reference or an identity"},
        sourceRequired},
    ServiceCheck{{"service.checkpoint-main", Severity::Error,
                  "no other container takes the name main of the main container in a checkpointed pod"},
                 mainNameFree},
};

// DynamoCheckpoint

void jobName(const Write& write, const Report& report) {
  const std::string_view name = json::findText(json::find(&write.object, "metadata"), "name");
  const std::size_t length = kJobPrefix.size() + name.size();
  if (length <= k8s::kMaxLabelLength) return;
  report.tooLong(
      "metadata.name",
      fmt::format("may not be more than {} bytes (it has {}): label job-name of its Job's pods, {}, "
                  "would have {} bytes, at most {} are allowed",
                  k8s::kMaxLabelLength - kJobPrefix.size(), name.size(),
                  showValue(fmt::format("{}{}", kJobPrefix, name)), length, k8s::kMaxLabelLength));
}

const Value* jobOf(const Write& write) {
  return json::findObject(json::findObject(&write.object, "spec"), "job");
}

void jobNumbers(const Write& write, const Report& report) {
  const At job = "spec.job";
  for (const std::string_view field : {"activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"}) {
    const Value* number = json::find(jobOf(write), field);
    if (number == nullptr || !number->IsInt64() || number->GetInt64() >= 0) continue;
    report.invalid(job / field, *number, "must be greater than or equal to 0");
  }
}

void jobDeadline(const Write& write, const Report& report) {
  if (integerAt(jobOf(write), "activeDeadlineSeconds") != 0) return;
  report.warn("spec.job.activeDeadlineSeconds", "is 0: the Job fails as soon as it starts");
}

void warnEmptyModel(const Write& write, const Report& report) {
  const Value* identity = json::findObject(json::findObject(&write.object, "spec"), "identity");
  const Value* model = json::find(identity, "model");
  if (model == nullptr || !model->IsString() || model->GetStringLength() > 0) return;
  report.warn("spec.identity.model", "is empty: checkpoints are matched by their model");
}

void specRequired(const Write& write, const Report& report) {
  const Value* spec = json::findObject(&write.object, "spec");
  if (json::find(spec, "identity") == nullptr)
    report.required("spec.identity", "must identify the checkpoint");
  if (json::find(json::findObject(spec, "job"), "podTemplateSpec") == nullptr) {
    report.required("spec.job.podTemplateSpec", "must be the template of the pod to checkpoint");
  }
}

constexpr std::array kChecks = {
    Check<Write>{
        {"checkpoint.name-length", Severity::Error, "the name must leave room for the checkpoint Job's name"},
        jobName},
    Check<Write>{{"checkpoint.spec-required", Severity::Error, "identity and pod template are required"},
                 specRequired},
    Check<Write>{{"checkpoint.job-number", Severity::Error, "numbers of the checkpoint Job are 0 or more"},
                 jobNumbers},
    Check<Write>{{"checkpoint.job-deadline", Severity::Warning, "the checkpoint Job has time to run"},
                 jobDeadline},
    Check<Write>{{"checkpoint.model-named", Severity::Warning, "the identity names a model"}, warnEmptyModel},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

std::span<const ServiceCheck> serviceCheckpointChecks() {
  return kServiceChecks;
}

Findings validateCheckpoint(const Write& write) {
  return judgeBy(kChecks, write);
}

std::span<const Rule> checkpointRules() {
  return kRules;
}

}  // namespace dynamo::rules
