#include "common/rules/request/dgdr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/field/check.h"
#include "common/field/judge.h"
#include "common/json/parse.h"
#include "common/k8s/object.h"

namespace dynamo::rules {
namespace {

using json::Value;
using k8s::annotationsOf;
using k8s::specOf;

namespace keys = api::dgdr;

bool fromAlpha(const DgdrWrite& write) {
  return write.clientVersion == "v1alpha1";
}

void modelRequired(const DgdrWrite& write, const Report& report) {
  const Value* model = json::find(specOf(write.object), "model");
  if (model != nullptr && (!model->IsString() || model->GetStringLength() > 0)) return;
  report.required("spec.model", "must name a model");
}

void thoroughNeedsBackend(const DgdrWrite& write, const Report& report) {
  const Value* spec = specOf(write.object);
  if (json::findText(spec, "searchStrategy") != "thorough" || json::findText(spec, "backend") != "auto")
    return;
  if (fromAlpha(write)) {
    report.invalid("spec.backend", "auto",
                   R"(must be "sglang", "trtllm" or "vllm" because searchStrategy is "thorough" in v1beta1)");
    return;
  }
  report.invalid("spec.searchStrategy", "thorough",
                 R"(needs one engine: set spec.backend to "sglang", "trtllm" or "vllm")");
}

void hardwareGiven(const DgdrWrite& write, const Report& report) {
  if (!write.policy.hardwareRequired) return;
  const Value* hardware = json::findObject(specOf(write.object), "hardware");
  const bool given = !json::findText(hardware, "gpuSku").empty() ||
                     json::find(hardware, "vramMb") != nullptr ||
                     json::find(hardware, "numGpusPerNode") != nullptr;
  if (given) return;
  report.required("spec.hardware",
                  fromAlpha(write)
                      ? "must be set because GPU discovery is off, but v1alpha1 has no such field: use "
                        "nvidia.com/v1beta1, or enable gpu.discoveryEnabled in the operator's configuration"
                      : "must set gpuSku, vramMb or numGpusPerNode because GPU discovery is off");
}

void nameFitsJob(const DgdrWrite& write, const Report& report) {
  const std::string_view name = json::findText(json::find(&write.object, "metadata"), "name");
  // An existing object keeps its name, so only CREATE can be rejected.
  if (name.size() <= keys::kMaxNameLength) return;
  report.tooLong("metadata.name",
                 fmt::format("may not be more than {} bytes (it has {}): the profiling Job is named after it",
                             keys::kMaxNameLength, name.size()));
}

void overridesNamespace(const DgdrWrite& write, const Report& report) {
  if (write.policy.allowOtherNamespaces) return;
  const std::string_view text = json::findText(annotationsOf(write.object), keys::kDeploymentOverrides);
  json::Document overrides;
  if (text.empty() || json::parse(text, overrides)) return;
  const std::string_view wanted = json::findText(&overrides, "namespace");
  const std::string_view own = json::findText(json::find(&write.object, "metadata"), "namespace");
  if (wanted.empty() || wanted == own) return;
  report.forbidden(fromAlpha(write) ? Path{"spec.deploymentOverrides.namespace"}
                                    : Path{"metadata.annotations"}.key(keys::kDeploymentOverrides),
                   fmt::format("the deployment is created in the namespace of the request, {}, not in {}",
                               showValue(own), showValue(wanted)));
}

void specLocked(const DgdrWrite& write, const Report& report) {
  if (write.old == nullptr) return;
  const std::string_view phase = json::findText(json::find(write.old, "status"), "phase");
  if (std::find(keys::kLockedPhases.begin(), keys::kLockedPhases.end(), phase) == keys::kLockedPhases.end()) {
    return;
  }
  if (!specChanged(write)) return;
  report.forbidden(
      "spec", fmt::format("may not be changed in phase {}: delete the request and create it again", phase));
}

void failedIsFinal(const DgdrWrite& write, const Report& report) {
  if (write.old == nullptr) return;
  if (json::findText(json::find(write.old, "status"), "phase") != "Failed") return;
  if (!specChanged(write)) return;
  report.warn("spec", "has no effect because the request has failed: delete the request and create it again");
}

/// Counts, latencies and token numbers that the schema leaves unbounded (quirk b1-Q9).
constexpr std::array<std::array<std::string_view, 2>, 10> kPositive = {{{"hardware", "vramMb"},
                                                                        {"hardware", "totalGpus"},
                                                                        {"hardware", "numGpusPerNode"},
                                                                        {"workload", "isl"},
                                                                        {"workload", "osl"},
                                                                        {"workload", "concurrency"},
                                                                        {"workload", "requestRate"},
                                                                        {"sla", "ttft"},
                                                                        {"sla", "itl"},
                                                                        {"sla", "e2eLatency"}}};

void positiveNumbers(const DgdrWrite& write, const Report& report) {
  const Value* spec = specOf(write.object);
  for (const auto& [group, field] : kPositive) {
    const Value* value = json::find(json::find(spec, group), field);
    if (value == nullptr || !value->IsNumber() || value->GetDouble() > 0) continue;
    report.warn(Path{"spec"} / group / field,
                fmt::format("should be greater than 0, but is {}", showValue(*value)));
  }
}

/// A number that is plausible only in another unit than that of its field.
struct Unit {
  std::string_view group;
  std::string_view field;
  double least;   ///< smaller numbers are in the larger unit
  double factor;  ///< from the larger unit to that of the field
  std::string_view unit;
};
constexpr std::array kUnits = {Unit{"hardware", "vramMb", 2048, 1024, "MiB"},
                               Unit{"sla", "ttft", 10, 1000, "ms"}, Unit{"sla", "itl", 0.5, 1000, "ms"},
                               Unit{"sla", "e2eLatency", 100, 1000, "ms"}};
/// More than any GPU has, in MiB: such a number is in bytes or KiB.
constexpr double kMuchMemory = 4.0 * 1024 * 1024;

void unitsOfFields(const DgdrWrite& write, const Report& report) {
  const Value* spec = specOf(write.object);
  for (const Unit& each : kUnits) {
    const Value* value = json::find(json::find(spec, each.group), each.field);
    if (value == nullptr || !value->IsNumber()) continue;
    const double number = value->GetDouble();
    const Path path = Path{"spec"} / each.group / each.field;
    if (number > 0 && number < each.least) {
      report.warn(path, fmt::format("{} is in {}: did you mean {:.10g}?", showValue(*value), each.unit,
                                    number * each.factor));
    } else if (each.unit == "MiB" && number > kMuchMemory) {
      report.warn(path, fmt::format("{} is in MiB, which is more than a GPU has", showValue(*value)));
    }
  }
}

void overrideIsGraph(const DgdrWrite& write, const Report& report) {
  const Value* graph = json::findObject(json::find(specOf(write.object), "overrides"), "dgd");
  if (graph == nullptr) return;
  if (json::findText(graph, "kind") == api::kDynamoGraphDeployment &&
      json::findText(graph, "apiVersion") == api::kV1alpha1) {
    return;
  }
  report.warn("spec.overrides.dgd",
              fmt::format("is not a {} of {}", api::kDynamoGraphDeployment, api::kV1alpha1));
}

/// The planner block turns the planner on, whatever it contains.
void plannerIsOn(const DgdrWrite& write, const Report& report) {
  const Value* planner = json::findObject(json::find(specOf(write.object), "features"), "planner");
  const At block = "spec.features.planner";
  const auto checkSwitch = [&](std::string_view key, bool meansOff) {
    const Value* value = json::find(planner, key);
    const bool turnedOff =
        value != nullptr && (value->IsBool() ? value->GetBool() == meansOff
                                             : json::text(*value) == (meansOff ? "true" : "false"));
    if (!turnedOff) return;
    report.warn(block / key, "does not turn the planner off: remove the planner block");
  };
  checkSwitch("enabled", false);
  checkSwitch("enable", false);
  checkSwitch("disabled", true);
}

/// totalGpus may be less than the GPUs of a node, but then no node is fully used.
void gpusOfNode(const DgdrWrite& write, const Report& report) {
  const Value* hardware = json::findObject(specOf(write.object), "hardware");
  const Value* node = json::find(hardware, "numGpusPerNode");
  const Value* all = json::find(hardware, "totalGpus");
  if (node == nullptr || all == nullptr || !node->IsInt64() || !all->IsInt64() || all->GetInt64() <= 0)
    return;
  if (node->GetInt64() <= all->GetInt64()) return;
  report.warn("spec.hardware.numGpusPerNode",
              fmt::format("is {}, more than totalGpus ({})", node->GetInt64(), all->GetInt64()));
}

using DgdrCheck = Check<DgdrWrite>;

constexpr std::array kChecks = {
    DgdrCheck{{"dgdr-spec-locked", Severity::Lock,
               "the spec is locked in phases Profiling, Ready, Deploying and Deployed"},
              specLocked},
    DgdrCheck{{"dgdr-model-required", Severity::Error, "a model must be named"}, modelRequired},
    DgdrCheck{
        {"dgdr-thorough-backend", Severity::Error, "searchStrategy thorough needs a backend other than auto"},
        thoroughNeedsBackend},
    DgdrCheck{{"dgdr-hardware-required", Severity::Error,
               "without GPU discovery in a restricted namespace, hardware must be given"},
              hardwareGiven},
    DgdrCheck{{"dgdr-name-length", Severity::Error, "the name must leave room for the profiling Job's name"},
              nameFitsJob},
    DgdrCheck{{"dgdr-overrides-namespace", Severity::Error,
               "the generated deployment stays in the request's namespace unless configured otherwise"},
              overridesNamespace},
    DgdrCheck{{"dgdr-failed-is-final", Severity::Warning, "a change does not restart a failed request"},
              failedIsFinal},
    DgdrCheck{{"dgdr-positive-numbers", Severity::Warning,
               "counts, latencies and token numbers should be positive"},
              positiveNumbers},
    DgdrCheck{{"dgdr-units", Severity::Warning, "latencies are in milliseconds, memory of GPUs in MiB"},
              unitsOfFields},
    DgdrCheck{{"dgdr-override-kind", Severity::Warning, "overrides.dgd should be a DynamoGraphDeployment"},
              overrideIsGraph},
    DgdrCheck{
        {"dgdr-planner-on", Severity::Warning, "only leaving out the planner block turns the planner off"},
        plannerIsOn},
    DgdrCheck{{"dgdr-gpus-of-node", Severity::Warning, "numGpusPerNode is not more than totalGpus"},
              gpusOfNode},
};

constexpr auto kRules = rulesIn(kChecks);

}  // namespace

bool specChanged(const DgdrWrite& write) {
  if (!sameDgdrSpec(json::find(*write.old, "spec"), json::find(write.object, "spec"))) return true;
  return fromAlpha(write) && !sameAlphaSpec(*write.old, write.object);
}

std::span<const Rule> dgdrRules() {
  return kRules;
}

Findings validateDgdr(const DgdrWrite& write) {
  return judgeBy(kChecks, write);
}

}  // namespace dynamo::rules
