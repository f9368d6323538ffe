#include "controller/plugin/target_tree.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/config/operator_config.h"
#include "common/lifecycle/object.h"
#include "common/model/component_defaults.h"
#include "controller/view/status_node.h"

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
  TargetTree tree = target.kind == api::kDynamoGraphDeployment
                        ? TargetTree{view::treeOf(**found, loaded.pointers, context, now)}
                        : TargetTree{view::treeOfObject(**found, loaded.pointers, context, now)};
  const std::vector<std::string> forbidden = snapshot.forbiddenKinds();
  std::visit([&](auto& made) { view::markUnlisted(made.nodes, forbidden); }, tree);
  return tree;
}

}  // namespace dynamo::plugin
