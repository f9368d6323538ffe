// Services on several nodes (quirks pod-Q23, pod-Q38, pod-Q40; spec/pod-defaults.md section 11.1).

#include <fmt/format.h>

#include "common/render/component.h"
#include "common/validation/graph.h"

namespace dynamo::validation {
namespace {

using json::Value;

constexpr std::string_view kProbePrefix = "extraPodSpec.mainContainer.";

void gpuCount(const Service& service, const Report& report) {
  if (!service.multinode() || service.framework.name != render::kTrtllm) return;
  const render::GpuCount counted = render::countedGpus(service.spec);
  if (counted.number > 0) return;
  report.required(service.at(counted.field.empty() ? "resources.limits.gpu" : counted.field),
                  "multinode TensorRT-LLM starts one process for each GPU");
}

/// The leader answers for the workers; see section 11.1 for what each engine removes.
void droppedProbes(const Service& service, const Report& report) {
  const std::string& framework = service.framework.name;
  if (!service.multinode() || framework == render::kNoop) return;
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    for (const std::string_view prefix : {std::string_view{}, kProbePrefix}) {
      const Value* holder = prefix.empty() ? &service.spec : service.mainContainer();
      if ((prefix.empty() && probe == "startupProbe") || json::findObject(holder, probe) == nullptr) continue;
      report.warn(service.at(fmt::format("{}{}", prefix, probe)),
                  "holds for the leader's pod only: worker pods do without");
    }
  }
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.trtllm-gpus", Severity::Error, "multinode TensorRT-LLM needs a number of GPUs"},
                 gpuCount},
    ServiceCheck{{"service.probes-dropped", Severity::Warning,
                  "probes of multinode services hold for the leader only"},
                 droppedProbes},
};

}  // namespace

std::span<const ServiceCheck> serviceMultinodeChecks() {
  return kChecks;
}

}  // namespace dynamo::validation
