#include "common/render/adopt.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/k8s/object.h"
#include "common/render/object.h"
#include "common/render/takeover.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;
using k8s::annotationsOf;
using k8s::controllerOf;
using k8s::ownersOf;

bool sameUid(const Value& a, const Value& b) {
  return json::findText(&a, "uid") == json::findText(&b, "uid");
}

/// Whether the reference `live` is to a deleted object that `wanted` has replaced under the same name.
bool isPredecessor(const Value& live, const Value* wanted) {
  return wanted != nullptr && json::findText(&live, "kind") == json::findText(wanted, "kind") &&
         json::findText(&live, "name") == json::findText(wanted, "name") &&
         json::findText(&live, "apiVersion") == json::findText(wanted, "apiVersion");
}

/// Whether a key is one that this operator or the reference operator gives to children.
bool hasMark(const Value* members) {
  if (members == nullptr || !members->IsObject()) return false;
  return std::any_of(members->MemberBegin(), members->MemberEnd(), [](const auto& member) {
    const std::string_view key = json::text(member.name);
    return key.starts_with("nvidia.com/dynamo-") || isReferenceMark(key);
  });
}

/// Whether this operator or the reference operator made `live`, which has no controller: its graph may have
/// been deleted with --cascade=orphan, or a backup without owners was restored.
bool isOrphan(const Value& live, const Value& child, bool applied) {
  const std::string_view graph = json::findText(labelsOf(live), api::label::kGraph);
  const std::string_view wanted = json::findText(labelsOf(child), api::label::kGraph);
  if (!graph.empty() && !wanted.empty()) return graph == wanted;
  // Accounts, roles and their bindings have no label of the graph.
  return applied || hasMark(labelsOf(live)) || hasMark(annotationsOf(live)) ||
         json::findText(labelsOf(live), api::label::kAppManagedBy) == api::kOperatorName;
}

/// Whether a graph owns what one of its components should own, or the other way round. The name of a
/// component begins with that of its graph.
bool changesPathway(const Value& live, const Value& wanted) {
  const auto isGraphOf = [](const Value& graph, const Value& component) {
    return json::findText(&graph, "kind") == api::kDynamoGraphDeployment &&
           json::findText(&component, "kind") == api::kDynamoComponentDeployment &&
           json::findText(&component, "name").starts_with(std::string{json::findText(&graph, "name")} + '-');
  };
  return isGraphOf(live, wanted) || isGraphOf(wanted, live);
}

/// `child` with the owner references of the shared object `live` followed by its own. An object has at most
/// one controller, so additional owners are not controllers. The references of `live` must be included,
/// because server-side apply removes those that the field manager no longer applies.
Value withOwnersOf(const Value& child, const Value& live, Allocator& allocator) {
  const json::Maker make{allocator};
  Value all = make.list();
  const Value* controller = controllerOf(live);
  for (const Value& owner : ownersOf(live)) make.push(all, make.value(owner));
  for (const Value& owner : ownersOf(child)) {
    const auto known =
        std::find_if(all.Begin(), all.End(), [&](const Value& other) { return sameUid(owner, other); });
    Value reference = make.value(owner);
    if (controller != nullptr && !sameUid(owner, *controller)) {
      json::remove(reference, "controller");
      json::remove(reference, "blockOwnerDeletion");
    }
    if (known == all.End()) {
      make.push(all, std::move(reference));
    } else {
      *known = std::move(reference);
    }
  }
  Value object = make.value(child);
  if (!all.Empty()) make.set(*json::find(object, "metadata"), "ownerReferences", std::move(all));
  return object;
}

Value withoutReplicas(const Value& child, Allocator& allocator) {
  Value object = json::copy(child, allocator);
  if (Value* spec = json::find(object, "spec")) json::remove(*spec, "replicas");
  return object;
}

}  // namespace

Step stepFor(const Child& child, const Value* live, bool applied, Allocator& allocator) {
  const bool once = child.policy == Policy::CreatedOnce;
  const bool adapter = child.key.kind == api::kDynamoGraphDeploymentScalingAdapter;
  if (live == nullptr) return {once || adapter ? Action::Create : Action::Apply, &child.object, {}};
  // A claim that is being deleted stays as long as pods use it.
  if (once) return {Action::Leave, nullptr, {}};
  if (k8s::isBeingDeleted(*live))
    return {Action::Wait, nullptr, fmt::format("{} is being deleted", k8s::toText(child.key))};
  const Value* controller = controllerOf(*live);
  const Value* wanted = controllerOf(child.object);
  if (child.policy != Policy::Shared && controller != nullptr &&
      (wanted == nullptr || !sameUid(*controller, *wanted))) {
    if (isPredecessor(*controller, wanted)) {
      return {Action::Wait, nullptr,
              fmt::format("{} belongs to a deleted {} {}", k8s::toText(child.key),
                          json::findText(controller, "kind"), json::findText(controller, "name"))};
    }
    return {Action::Refuse, nullptr,
            fmt::format("{} is controlled by {} {}", k8s::toText(child.key),
                        json::findText(controller, "kind"), json::findText(controller, "name")),
            wanted != nullptr && changesPathway(*controller, *wanted)};
  }
  // A shared object may belong to others beside the controller. One without owners is a stranger's, unless it
  // is to stay without owners.
  const bool owned =
      child.policy == Policy::Shared && (ownersOf(child.object).empty() || !ownersOf(*live).empty());
  if (!owned && controller == nullptr && !isOrphan(*live, child.object, applied)) {
    return {Action::Refuse, nullptr,
            fmt::format("{} exists, but this operator did not create it", k8s::toText(child.key))};
  }
  if (!json::equal(json::find(child.object, "roleRef"), json::find(*live, "roleRef"))) {
    return {Action::Replace, &child.object, {}};
  }
  if (child.policy == Policy::Shared) {
    return {Action::Apply, keep(withOwnersOf(child.object, *live, allocator), allocator), {}};
  }
  if (adapter) return {Action::Apply, keep(withoutReplicas(child.object, allocator), allocator), {}};
  return {Action::Apply, &child.object, {}};
}

void leaveReplicas(Value& object) {
  Value* spec = json::find(object, "spec");
  const Value* replicas = spec == nullptr ? nullptr : json::find(*spec, "replicas");
  if (replicas != nullptr && !(replicas->IsInt64() && replicas->GetInt64() == 0))
    json::remove(*spec, "replicas");
}

}  // namespace dynamo::render
