#include "common/conversion/represented.h"

#include <bit>
#include <iterator>

#include "common/conversion/pointer.h"

namespace dynamo::conversion {
namespace {

constexpr std::string_view kBetaPaths[] = {
    "/spec/model",
    "/spec/backend",
    "/spec/image",
    "/spec/autoApply",
    "/spec/features/mocker/enabled",
    "/spec/features/planner",
    "/spec/sla/ttft",
    "/spec/sla/itl",
    "/spec/workload/isl",
    "/spec/workload/osl",
    "/spec/modelCache/pvcName",
    "/spec/modelCache/pvcModelPath",
    "/spec/modelCache/pvcMountPath",
    "/spec/overrides/profilingJob/template/spec/containers/0/resources",
    "/spec/overrides/profilingJob/template/spec/tolerations",
    "/status/phase",
    "/status/observedGeneration",
    "/status/conditions",
    "/status/profilingResults/selectedConfig",
    "/status/dgdName",
};

constexpr std::string_view kAlphaPaths[] = {
    "/spec/model",
    "/spec/backend",
    "/spec/useMocker",
    "/spec/autoApply",
    "/spec/enableGpuDiscovery",
    "/spec/profilingConfig/config",
    "/spec/profilingConfig/configMapRef",
    "/spec/profilingConfig/profilerImage",
    "/spec/profilingConfig/outputPVC",
    "/spec/profilingConfig/resources",
    "/spec/profilingConfig/tolerations",
    "/spec/deploymentOverrides/name",
    "/spec/deploymentOverrides/namespace",
    "/spec/deploymentOverrides/labels",
    "/spec/deploymentOverrides/annotations",
    "/status/state",
    "/status/backend",
    "/status/observedGeneration",
    "/status/conditions",
    "/status/profilingResults",
    "/status/generatedDeployment",
    "/status/deployment",
};

}  // namespace

const RepresentedFields kRepresentedInV1beta1{kBetaPaths, std::size(kBetaPaths)};
const RepresentedFields kRepresentedInV1alpha1{kAlphaPaths, std::size(kAlphaPaths)};

RepresentedFields::Step RepresentedFields::descend(const Step& from, std::string_view name) const {
  Step step;
  step.below = from.below;
  step.length = from.length + 1 + name.size();
  step.candidates = 0;
  if (from.below || from.candidates == 0 || name.empty() || name.find('/') != std::string_view::npos)
    return step;
  for (std::uint64_t left = from.candidates & all(); left != 0; left &= left - 1) {
    const std::uint64_t bit = left & -left;
    const std::string_view path = paths_[std::countr_zero(left)];
    if (path.size() < step.length || path[from.length + 1] != name.front() ||
        path.substr(from.length + 1, name.size()) != name) {
      continue;
    }
    if (path.size() == step.length) {
      step.below = true;
    } else if (path[step.length] == '/') {
      step.candidates |= bit;
    }
  }
  return step;
}

RepresentedFields::Relation RepresentedFields::relationOf(std::string_view pointer) const {
  Step step;
  while (!pointer.empty()) step = descend(step, unescape(nextToken(pointer)));
  return step.relation();
}

}  // namespace dynamo::conversion
