#include "common/admission/alpha_paths.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "common/api/dgdr.h"
#include "common/k8s/object.h"

namespace dynamo::admission {
namespace {

using json::Value;

namespace keys = api::dgdr;

/// Where v1alpha1 clients wrote what stands at a place of v1beta1.
struct Place {
  std::string beta;
  std::string_view alpha;
};

const std::array<Place, 11>& places() {
  static const std::array<Place, 11> kPlaces = {{
      {"spec.overrides.profilingJob.template.spec.tolerations", "spec.profilingConfig.tolerations"},
      {"spec.overrides.profilingJob.template.spec.containers[0].resources", "spec.profilingConfig.resources"},
      {"spec.image", "spec.profilingConfig.profilerImage"},
      {"spec.modelCache", "spec.profilingConfig.config.deployment.modelCache"},
      {"spec.sla", "spec.profilingConfig.config.sla"},
      {"spec.workload", "spec.profilingConfig.config.sla"},
      {"spec.features.planner", "spec.profilingConfig.config.planner"},
      {"spec.features.mocker.enabled", "spec.useMocker"},
      {fmt::format("metadata.annotations[{}]", keys::kConfigMapRef), "spec.profilingConfig.configMapRef"},
      {fmt::format("metadata.annotations[{}]", keys::kOutputPvc), "spec.profilingConfig.outputPVC"},
      {fmt::format("metadata.annotations[{}]", keys::kDeploymentOverrides), "spec.deploymentOverrides"},
  }};
  return kPlaces;
}

/// Fields of modelCache that v1alpha1 calls by other names (conv-Q8).
struct CacheField {
  std::string_view beta;
  std::string_view alpha;
  std::string_view old;  ///< counts where the other one is absent
};
constexpr std::array<CacheField, 2> kCacheFields = {
    {{"pvcModelPath", "modelPathInPvc", "pvcPath"}, {"pvcMountPath", "pvcMountPath", "mountPath"}}};

constexpr std::string_view kCache = "spec.profilingConfig.config.deployment.modelCache";

}  // namespace

AlphaPaths::AlphaPaths(const Value& alpha) {
  const Value* spec = k8s::specOf(alpha);
  const Value* profiling = json::findObject(spec, "profilingConfig");
  const Value* deployment = json::findObject(json::findObject(profiling, "config"), "deployment");
  const Value* cache = json::findObject(deployment, "modelCache");
  for (const CacheField& field : kCacheFields) {
    const bool old = json::find(cache, field.alpha) == nullptr && json::find(cache, field.old) != nullptr;
    written_.emplace_back(fmt::format("spec.modelCache.{}", field.beta),
                          fmt::format("{}.{}", kCache, old ? field.old : field.alpha));
  }
  const std::string_view profilerImage = json::findText(profiling, "profilerImage");
  const Value* overrides = json::findObject(spec, "deploymentOverrides");
  if (profilerImage.empty() && !json::findText(overrides, "workersImage").empty()) {
    written_.emplace_back("spec.image", "spec.deploymentOverrides.workersImage");
  }
}

void AlphaPaths::operator()(std::string& field) const {
  for (const auto& [beta, alpha] : written_) {
    if (field != beta) continue;
    field = alpha;
    return;
  }
  for (const Place& place : places()) {
    if (!field.starts_with(place.beta)) continue;
    field.replace(0, place.beta.size(), place.alpha);
    return;
  }
}

}  // namespace dynamo::admission
