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

void configuredAtAll(const Service& service, const Report& report) {
  if (checkpointOf(service) == nullptr || service.graph.policy.checkpointEnabled) return;
  report.forbidden(service.at("checkpoint.enabled"),
                   "checkpoints are off in the operator's configuration (checkpoint.enabled)");
}

void storageConfigured(const Service& service, const Report& report) {
  const GraphPolicy& policy = service.graph.policy;
  if (checkpointOf(service) == nullptr || !policy.checkpointEnabled) return;
  const CheckpointStorage& storage = policy.checkpointStorage;
  const bool object = storage.type == "s3" || storage.type == "oci";
  const bool good = object ? !storage.uri.empty() : !storage.pvcName.empty() && !storage.basePath.empty();
  if (good && !object && !k8s::dns1123SubdomainProblem(storage.pvcName).empty()) {
    report.forbidden(service.at("checkpoint.enabled"),
                     fmt::format("no claim can be named {}, which the operator's configuration has as "
                                 "checkpoint.storage.pvc.pvcName",
                                 showValue(storage.pvcName)));
  }
  if (good) return;
  const std::string_view missing = object ? "uri" : storage.pvcName.empty() ? "pvcName" : "basePath";
  report.forbidden(service.at("checkpoint.enabled"),
                   fmt::format("the operator's configuration lacks checkpoint.storage.{}.{}",
                               object ? storage.type : "pvc", missing));
}

void notMultinode(const Service& service, const Report& report) {
  if (checkpointOf(service) == nullptr || !service.multinode()) return;
  report.forbidden(service.at("checkpoint"), "a service on several nodes cannot be checkpointed");
}

void sourceGiven(const Service& service, const Report& report) {
  const Value* checkpoint = checkpointOf(service);
  if (checkpoint == nullptr || !json::findText(checkpoint, "checkpointRef").empty()) return;
  const Value* identity = json::findObject(checkpoint, "identity");
  const At field = service.at("checkpoint.identity");
  if (identity == nullptr) return report.required(field, "set identity or checkpointRef");
  for (const std::string_view member : {"model", "backendFramework"}) {
    if (json::find(identity, member) != nullptr) continue;
    report.required(field / member, "it is part of the checkpoint's identity");
  }
  const std::string_view framework = json::findText(identity, "backendFramework");
  if (json::find(identity, "backendFramework") != nullptr &&
      std::find(kFrameworks.begin(), kFrameworks.end(), framework) == kFrameworks.end()) {
    report.notSupported(field / "backendFramework", framework, kFrameworks);
  }
}

/// Whether the operator makes a DynamoCheckpoint of the service where none of its identity exists.
bool isAutomatic(const Value& checkpoint) {
  const std::string_view mode = json::findText(&checkpoint, "mode");
  return json::findText(&checkpoint, "checkpointRef").empty() && (mode.empty() || mode == "Auto");
}

/// In the pod that is checkpointed the main container is `main`, whatever its name in the service's (quirk
/// pod-Q39).
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
                       "is the main container's name in the pod that is checkpointed");
    });
  }
}

constexpr std::array kServiceChecks = {
    ServiceCheck{{"service.checkpoint-disabled", Severity::Error,
                  "checkpoints must be on in the operator's configuration"},
                 configuredAtAll},
    ServiceCheck{{"service.checkpoint-storage", Severity::Error,
                  "the operator's configuration must say where checkpoints are kept"},
                 storageConfigured},
    ServiceCheck{
        {"service.checkpoint-multinode", Severity::Error, "services on several nodes cannot be checkpointed"},
        notMultinode},
    ServiceCheck{
        {"service.checkpoint-source", Severity::Error, "a checkpoint is known by reference or by identity"},
        sourceGiven},
    ServiceCheck{{"service.checkpoint-main", Severity::Error,
                  "the name main is free for the main container of a checkpoint's pod"},
                 mainNameFree},
};

// DynamoCheckpoint

void jobName(const Request& request, const Report& report) {
  const std::string_view name = json::findText(json::find(&request.object, "metadata"), "name");
  const std::size_t length = kJobPrefix.size() + name.size();
  if (length <= k8s::kMaxLabelLength) return;
  report.tooLong(
      "metadata.name",
      fmt::format("may not be more than {} bytes (it has {}): label job-name of its Job's pods, {}, "
                  "would have {} bytes, at most {} are allowed",
                  k8s::kMaxLabelLength - kJobPrefix.size(), name.size(),
                  showValue(fmt::format("{}{}", kJobPrefix, name)), length, k8s::kMaxLabelLength));
}

const Value* jobOf(const Request& request) {
  return json::findObject(json::findObject(&request.object, "spec"), "job");
}

void jobNumbers(const Request& request, const Report& report) {
  const At job = "spec.job";
  for (const std::string_view field : {"activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"}) {
    const Value* number = json::find(jobOf(request), field);
    if (number == nullptr || !number->IsInt64() || number->GetInt64() >= 0) continue;
    report.invalid(job / field, *number, "must be greater than or equal to 0");
  }
}

void jobTime(const Request& request, const Report& report) {
  if (integerAt(jobOf(request), "activeDeadlineSeconds") != 0) return;
  report.warn("spec.job.activeDeadlineSeconds", "is 0: the Job fails as soon as it starts");
}

void modelNamed(const Request& request, const Report& report) {
  const Value* identity = json::findObject(json::findObject(&request.object, "spec"), "identity");
  const Value* model = json::find(identity, "model");
  if (model == nullptr || !model->IsString() || model->GetStringLength() > 0) return;
  report.warn("spec.identity.model", "is empty: a checkpoint is found by its model");
}

void specGiven(const Request& request, const Report& report) {
  const Value* spec = json::findObject(&request.object, "spec");
  if (json::find(spec, "identity") == nullptr) report.required("spec.identity", "what is checkpointed");
  if (json::find(json::findObject(spec, "job"), "podTemplateSpec") == nullptr) {
    report.required("spec.job.podTemplateSpec", "the pod that is checkpointed");
  }
}

constexpr std::array kChecks = {
    Check<Request>{
        {"checkpoint.name-length", Severity::Error, "the name must leave room for the checkpoint Job's name"},
        jobName},
    Check<Request>{{"checkpoint.spec-required", Severity::Error, "identity and pod template are given"},
                   specGiven},
    Check<Request>{{"checkpoint.job-number", Severity::Error, "numbers of the checkpoint Job are 0 or more"},
                   jobNumbers},
    Check<Request>{{"checkpoint.job-deadline", Severity::Warning, "the checkpoint Job has time to run"},
                   jobTime},
    Check<Request>{{"checkpoint.model-named", Severity::Warning, "the identity names a model"}, modelNamed},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

std::span<const ServiceCheck> serviceCheckpointChecks() {
  return kServiceChecks;
}

Findings validateCheckpoint(const Request& request) {
  return judgeBy(kChecks, request);
}

std::span<const Rule> checkpointRules() {
  return kRules;
}

}  // namespace dynamo::rules
