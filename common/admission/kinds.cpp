#include "common/admission/kinds.h"

#include <algorithm>
#include <array>

#include "common/admission/dgdr.h"
#include "common/admission/dry_render.h"
#include "common/api/kinds.h"
#include "common/rules/request/dgdr.h"

namespace dynamo::admission {
namespace {

using field::Rule;

template <std::span<const Rule> (*... Tables)()>
std::vector<Rule> rulesOf() {
  std::vector<Rule> all;
  const auto add = [&all](std::span<const Rule> rules) { all.insert(all.end(), rules.begin(), rules.end()); };
  (add(Tables()), ...);
  return all;
}

constexpr std::array kKinds = {
    Kind{api::kDynamoGraphDeployment, api::kV1alpha1, Defaults::Components, rules::validateDgd,
         dryRenderGraph, rulesOf<rules::dgdRules>},
    Kind{api::kDynamoComponentDeployment, api::kV1alpha1, Defaults::Components, rules::validateDcd,
         dryRenderComponentDeployment, rulesOf<rules::dcdRules>},
    Kind{api::kDynamoGraphDeploymentScalingAdapter, api::kV1alpha1, Defaults::None,
         rules::validateScalingAdapter, nullptr, rulesOf<rules::scalingAdapterRules>},
    Kind{api::kDynamoModel, api::kV1alpha1, Defaults::None, rules::validateModel, nullptr,
         rulesOf<rules::modelRules>},
    Kind{api::kDynamoCheckpoint, api::kV1alpha1, Defaults::None, rules::validateCheckpoint,
         dryRenderCheckpoint, rulesOf<rules::checkpointRules>},
    Kind{api::kDynamoGraphDeploymentRequest, api::kV1beta1, Defaults::GraphRequest, nullptr, nullptr,
         rulesOf<rules::dgdrRules, dgdrRules>},
};

}  // namespace

std::span<const Kind> kinds() {
  return kKinds;
}

const Kind* findKind(std::string_view name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace dynamo::admission
