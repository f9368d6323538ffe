#include "controller/plugin/target_tree.h"

#include <algorithm>

#include "common/api/kinds.h"
#include "common/config/operator_config.h"
#include "common/lifecycle/object.h"
#include "common/model/component_defaults.h"

namespace dynamo::plugin {

std::optional<TargetTree> treeOfTarget(const Snapshot& snapshot, const StatusTarget& target, view::Time now) {
  render::Facts facts;
  if (const auto grove = snapshot.serves("PodCliqueSet")) facts.setApi(render::Api::Grove, *grove);
  const LoadedObjects loaded = snapshot.objects();
  const auto found =
      std::find_if(loaded.pointers.begin(), loaded.pointers.end(), [&](const json::Value* object) {
        return json::findText(object, "kind") == target.kind && lifecycle::nameOf(*object) == target.name;
      });
  if (found == loaded.pointers.end()) return std::nullopt;
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  const render::Context context{config, defaults, facts};
  if (target.kind == api::kDynamoGraphDeployment) return view::treeOf(**found, loaded.pointers, context, now);
  return view::treeOfObject(**found, loaded.pointers, context, now);
}

}  // namespace dynamo::plugin
