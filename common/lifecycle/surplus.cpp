#include "common/lifecycle/surplus.h"

#include <set>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

std::pair<std::string_view, std::string_view> identity(const Value& object) {
  return {json::findText(&object, "kind"), nameOf(object)};
}

/// Whether the rolling update of the workers, or the user's data, decides about the child.
bool isKept(const Value& child, bool rendersComponents) {
  const std::string_view kind = json::findText(&child, "kind");
  if (kind == "PersistentVolumeClaim") return true;
  if (kind != api::kDynamoComponentDeployment || !rendersComponents) return false;
  return api::isWorkerType(json::findText(specOf(child), "componentType")) ||
         !labelOf(child, api::label::kWorkerHash).empty();
}

}  // namespace

std::vector<Write> surplusChildren(const Value& owner, const std::vector<render::Child>& rendered,
                                   std::span<const Value* const> observed) {
  std::set<std::pair<std::string_view, std::string_view>> wanted;
  bool rendersComponents = false;
  for (const render::Child& child : rendered) {
    wanted.insert(identity(child.object));
    rendersComponents =
        rendersComponents || json::findText(&child.object, "kind") == api::kDynamoComponentDeployment;
  }
  std::vector<Write> deletions;
  for (const Value* child : observed) {
    if (isBeingDeleted(*child) || !isControlledBy(*child, owner)) continue;
    if (wanted.contains(identity(*child)) || isKept(*child, rendersComponents)) continue;
    deletions.push_back(deletionOf(*child));
  }
  return deletions;
}

}  // namespace dynamo::lifecycle
