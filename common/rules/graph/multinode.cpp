// Multinode services (quirks pod-Q23, pod-Q31, pod-Q38, pod-Q40, pod-Q41).

#include <fmt/format.h>

#include "common/render/backend.h"
#include "common/render/component.h"
#include "common/render/shell.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

constexpr Members kMainContainer = "extraPodSpec.mainContainer";

void gpuCount(const Service& service, const Report& report) {
  if (!service.multinode() || service.framework.name != model::kTrtllm) return;
  const render::GpuCount counted = render::countedGpus(service.spec);
  if (counted.number > 0) return;
  report.required(service.path / (counted.field.empty() ? Path{"resources.limits.gpu"} : counted.field),
                  "must be set because multinode TensorRT-LLM starts one process per GPU");
}

/// Rendering reports a service that runs nothing at all (quirk dec-4).
void flagsCanBeAdded(const Service& service, const Report& report) {
  const std::string& framework = service.framework.name;
  const Value* main = service.mainContainer();
  if (!service.multinode() || main == nullptr) return;
  if (framework != model::kVllm && framework != model::kSglang) return;
  const bool args = !isEmptyList(json::find(main, "args"));
  const auto command = textsOf(json::find(main, "command"));
  // A shell without a script runs nothing either.
  if (!args && (command.empty() || command.back() == "-c")) return;
  if (render::takesFlags(*main, framework)) return;
  const Value* graphAnnotations = service.graph.isGraph ? service.graph.annotations : nullptr;
  if (framework == model::kVllm &&
      !render::vllmNeedsFlags(*main, service.spec, {service.annotations(), graphAnnotations})) {
    return;
  }
  const At at = service.at(kMainContainer);
  report.warn(
      args ? at / "args" : at / "command",
      fmt::format("does not run python -m dynamo.{}: the operator cannot add the flags that join the nodes",
                  framework));
}

void gpusUnknown(const Service& service, const Report& report) {
  if (!service.multinode() || service.framework.name != model::kVllm) return;
  const Value* main = service.mainContainer();
  if (main == nullptr || !render::vllmLacksGpus(*main, service.spec)) return;
  const Value* limits = json::findObject(json::findObject(&service.spec, "resources"), "limits");
  const std::string_view given = json::findText(limits, "gpu");
  report.warn(service.path / Path{"resources.limits.gpu"},
              fmt::format("is {}: the operator adds no flags that join the nodes of vLLM",
                          given.empty() ? std::string{"not set"} : field::showValue(given)));
}

/// Only the leader keeps the probes. Workers of vLLM and SGLang have none, and those of TensorRT-LLM have one
/// for sshd.
void droppedProbes(const Service& service, const Report& report) {
  const std::string& framework = service.framework.name;
  if (!service.multinode() || framework == model::kNoop) return;
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    for (const bool inContainer : {false, true}) {
      const Value* holder = inContainer ? service.mainContainer() : &service.spec;
      if ((!inContainer && probe == "startupProbe") || json::findObject(holder, probe) == nullptr) continue;
      const At at = inContainer ? service.at(kMainContainer) : At{service.path};
      report.warn(at / probe, "is used only in the leader's pod; worker pods do not have it");
    }
  }
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.trtllm-gpus", Severity::Error, "multinode TensorRT-LLM needs a number of GPUs"},
                 gpuCount},
    ServiceCheck{{"service.node-flags", Severity::Warning,
                  "the operator can add flags to the command of a multinode engine"},
                 flagsCanBeAdded},
    ServiceCheck{{"service.node-gpus", Severity::Warning,
                  "the flags of a multinode engine follow from its number of GPUs"},
                 gpusUnknown},
    ServiceCheck{{"service.probes-dropped", Severity::Warning,
                  "probes of multinode services apply only to the leader"},
                 droppedProbes},
};

}  // namespace

std::span<const ServiceCheck> serviceMultinodeChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
