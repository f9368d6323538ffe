#include "common/admission/alpha_paths.h"

#include <array>
#include <string_view>

#include "common/api/dgdr.h"
#include "common/k8s/object.h"

namespace dynamo::admission {
namespace {

using field::Path;
using json::Value;

namespace keys = api::dgdr;

constexpr field::Members kCache = "spec.profilingConfig.config.deployment.modelCache";

/// A path of v1beta1 and the v1alpha1 path of the same field.
struct Move {
  Path beta;
  Path alpha;
};

const std::vector<Move>& moves() {
  static const std::vector<Move> kMoves = [] {
    const Path job{"spec.overrides.profilingJob.template.spec"};
    const Path annotations{"metadata.annotations"};
    return std::vector<Move>{
        {job / "tolerations", Path{"spec.profilingConfig.tolerations"}},
        {(job / "containers")[0] / "resources", Path{"spec.profilingConfig.resources"}},
        {Path{"spec.image"}, Path{"spec.profilingConfig.profilerImage"}},
        {Path{"spec.modelCache"}, Path{kCache}},
        {Path{"spec.sla"}, Path{"spec.profilingConfig.config.sla"}},
        {Path{"spec.workload"}, Path{"spec.profilingConfig.config.sla"}},
        {Path{"spec.features.planner"}, Path{"spec.profilingConfig.config.planner"}},
        {Path{"spec.features.mocker.enabled"}, Path{"spec.useMocker"}},
        {annotations.key(keys::kConfigMapRef), Path{"spec.profilingConfig.configMapRef"}},
        {annotations.key(keys::kOutputPvc), Path{"spec.profilingConfig.outputPVC"}},
        {annotations.key(keys::kDeploymentOverrides), Path{"spec.deploymentOverrides"}},
    };
  }();
  return kMoves;
}

/// Fields of modelCache that v1alpha1 calls by other names (conv-Q8).
struct CacheField {
  std::string_view beta;
  std::string_view alpha;
  std::string_view old;  ///< read when `alpha` is absent
};
constexpr std::array<CacheField, 2> kCacheFields = {
    {{"pvcModelPath", "modelPathInPvc", "pvcPath"}, {"pvcMountPath", "pvcMountPath", "mountPath"}}};

}  // namespace

AlphaPaths::AlphaPaths(const Value& alpha) {
  const Value* spec = k8s::specOf(alpha);
  const Value* profiling = json::findObject(spec, "profilingConfig");
  const Value* deployment = json::findObject(json::findObject(profiling, "config"), "deployment");
  const Value* cache = json::findObject(deployment, "modelCache");
  for (const CacheField& field : kCacheFields) {
    const bool old = json::find(cache, field.alpha) == nullptr && json::find(cache, field.old) != nullptr;
    written_.emplace_back(Path{"spec.modelCache"} / field.beta,
                          Path{kCache} / (old ? field.old : field.alpha));
  }
  const std::string_view profilerImage = json::findText(profiling, "profilerImage");
  const Value* overrides = json::findObject(spec, "deploymentOverrides");
  if (profilerImage.empty() && !json::findText(overrides, "workersImage").empty()) {
    written_.emplace_back(Path{"spec.image"}, Path{"spec.deploymentOverrides.workersImage"});
  }
}

void AlphaPaths::operator()(Path& field) const {
  for (const auto& [beta, alpha] : written_) {
    if (field != beta) continue;
    field = alpha;
    return;
  }
  for (const Move& move : moves()) {
    if (!field.isWithin(move.beta)) continue;
    field.rebase(move.beta, move.alpha);
    return;
  }
}

}  // namespace dynamo::admission
