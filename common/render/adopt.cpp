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

/// Whether a key is one that this operator or the reference operator gives to children. Custom resources of
/// users have keys of this operator, too: admission records its version in them.
bool hasMark(const Value* members, bool custom) {
  if (members == nullptr || !members->IsObject()) return false;
  return std::any_of(members->MemberBegin(), members->MemberEnd(), [&](const auto& member) {
    const std::string_view key = json::text(member.name);
    return (!custom && key.starts_with("nvidia.com/dynamo-")) || isReferenceMark(key);
  });
}

/// Whether the metadata of `live` say that this operator or the reference operator made it. It may have no
/// owner: its graph may have been deleted with --cascade=orphan, or a backup without owners was restored.
bool isMarked(const Value& live, const Child& child, bool applied) {
  const std::string_view graph = json::findText(labelsOf(live), api::label::kGraph);
  const std::string_view wanted = json::findText(labelsOf(child.object), api::label::kGraph);
  if (!graph.empty() && !wanted.empty()) return graph == wanted;
  // Accounts, roles and their bindings have no label of the graph.
  const bool custom = child.key.group == api::kGroup;
  return applied || hasMark(labelsOf(live), custom) || hasMark(annotationsOf(live), custom) ||
         json::findText(labelsOf(live), api::label::kAppManagedBy) == api::kOperatorName;
}

/// Whether `owner` is an owner of `child`.
bool isOwner(const Value& owner, const Value& child) {
  const auto owners = ownersOf(child);
  return std::any_of(owners.begin(), owners.end(), [&](const Value& own) { return sameUid(own, owner); });
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

}  // namespace

bool isReserved(const Child& child) {
  return child.policy == Policy::Shared && ownersOf(child.object).empty();
}

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

Claim claimOf(const Child& child, const Value& live, bool applied) {
  const std::string name = k8s::toText(child.key);
  if (k8s::isBeingDeleted(live)) return {Claimant::Gone, fmt::format("{} is being deleted", name)};
  const Value* controller = controllerOf(live);
  const Value* wanted = controllerOf(child.object);
  if (child.policy != Policy::Shared && controller != nullptr &&
      (wanted == nullptr || !sameUid(*controller, *wanted))) {
    const std::string_view kind = json::findText(controller, "kind");
    const std::string_view owner = json::findText(controller, "name");
    if (isPredecessor(*controller, wanted))
      return {Claimant::Gone, fmt::format("{} belongs to a deleted {} {}", name, kind, owner)};
    return {Claimant::Other, fmt::format("{} is controlled by {} {}", name, kind, owner),
            wanted != nullptr && changesPathway(*controller, *wanted)};
  }
  if (isReserved(child)) return {};
  const bool shared = child.policy == Policy::Shared;
  if (!shared && controller != nullptr) return {};
  const auto owners = ownersOf(live);
  const auto others = std::count_if(owners.begin(), owners.end(),
                                    [&](const Value& owner) { return !isOwner(owner, child.object); });
  if (shared && others == 0 && !owners.empty()) return {};
  // Whoever may create objects can copy a label and name an owner, but then he is in managedFields.
  const bool written = applied || (shared && isReferenceObject(live));
  if ((others == 0 || written) && isMarked(live, child, applied)) return {};
  return {Claimant::Other, fmt::format("{} exists, but this operator did not create it", name)};
}

}  // namespace dynamo::render
