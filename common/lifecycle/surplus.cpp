#include "common/lifecycle/surplus.h"

#include <set>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Whether the rolling update of the workers decides about the child.
bool isWorkerGeneration(const Value& child) {
  if (json::findText(&child, "kind") != api::kDynamoComponentDeployment) return false;
  return api::isWorkerType(json::findText(specOf(child), "componentType")) ||
         !labelOf(child, api::label::kWorkerHash).empty();
}

}  // namespace

std::vector<Write> surplusChildren(const Value& owner, const std::vector<render::Child>& rendered,
                                   std::span<const Value* const> observed) {
  std::set<k8s::ObjectKey> wanted;
  bool rendersComponents = false;
  for (const render::Child& child : rendered) {
    wanted.insert(child.key);
    rendersComponents = rendersComponents || child.key.kind == api::kDynamoComponentDeployment;
  }
  std::vector<Write> deletions;
  for (const Value* child : observed) {
    if (isBeingDeleted(*child) || !isControlledBy(*child, owner)) continue;
    const k8s::ObjectKey key = k8s::keyOf(*child);
    if (render::childKind(key).policy != render::Policy::Applied || wanted.contains(key)) continue;
    if (rendersComponents && isWorkerGeneration(*child)) continue;
    deletions.push_back(deletionOf(*child));
  }
  return deletions;
}

}  // namespace dynamo::lifecycle
