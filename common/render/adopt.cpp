#include "common/render/adopt.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/kinds.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

const Value* ownersOf(const Value& object) {
  const Value* owners = json::find(json::find(&object, "metadata"), "ownerReferences");
  return owners != nullptr && owners->IsArray() ? owners : nullptr;
}

bool controls(const Value& reference) {
  return json::findBool(&reference, "controller").value_or(false);
}

/// The reference to the controller of `object`; nullptr: nobody controls it.
const Value* controllerOf(const Value& object) {
  const Value* owners = ownersOf(object);
  if (owners == nullptr) return nullptr;
  const auto found = std::find_if(owners->Begin(), owners->End(), controls);
  return found == owners->End() ? nullptr : found;
}

bool sameUid(const Value& a, const Value& b) {
  return json::findText(&a, "uid") == json::findText(&b, "uid");
}

/// The child's owners behind those that a shared object has already. There is one controller at most: who
/// comes later owns without controlling. All references are applied by one field manager, which would take
/// away those that it leaves out.
Value withOwnersOf(const Value& child, const Value& live, Allocator& allocator) {
  const json::Maker make{allocator};
  Value all = make.list();
  const Value* present = ownersOf(live);
  const Value* wanted = ownersOf(child);
  const Value* controller = controllerOf(live);
  if (present != nullptr) all = make.value(*present);
  if (wanted != nullptr) {
    for (const Value& owner : wanted->GetArray()) {
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

Step stepFor(const Child& child, const Value* live, Allocator& allocator) {
  const bool once = child.policy == Policy::CreatedOnce;
  const bool adapter = child.key.kind == api::kDynamoGraphDeploymentScalingAdapter;
  if (live == nullptr) return {once || adapter ? Action::Create : Action::Apply, &child.object, {}};
  if (k8s::isBeingDeleted(*live)) return {Action::Wait, nullptr, {}};
  if (once) return {Action::Leave, nullptr, {}};
  if (!json::equal(json::find(child.object, "roleRef"), json::find(*live, "roleRef"))) {
    return {Action::Replace, &child.object, {}};
  }
  if (child.policy == Policy::Shared) {
    return {Action::Apply, keep(withOwnersOf(child.object, *live, allocator), allocator), {}};
  }
  const Value* controller = controllerOf(*live);
  const Value* wanted = controllerOf(child.object);
  if (controller != nullptr && (wanted == nullptr || !sameUid(*controller, *wanted))) {
    return {Action::Refuse, nullptr,
            fmt::format("{} is controlled by {} {}", k8s::toText(child.key),
                        json::findText(controller, "kind"), json::findText(controller, "name"))};
  }
  if (adapter) return {Action::Apply, keep(withoutReplicas(child.object, allocator), allocator), {}};
  return {Action::Apply, &child.object, {}};
}

}  // namespace dynamo::render
