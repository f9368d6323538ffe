#include "common/lifecycle/surplus.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/worker_hash.h"
#include "common/model/graph.h"
#include "common/render/hash.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

bool isWorker(const Value& child) {
  return json::findText(&child, "kind") == api::kDynamoComponentDeployment && isWorkerComponent(child);
}

std::string_view serviceOf(const Value& component) {
  return json::findText(specOf(component), "serviceName");
}

bool isModelService(const render::ChildKind& kind) {
  return kind.policy == render::Policy::Shared && kind.stage == render::Stage::Services;
}

/// The names of the Services of the models that the worker generations in `observed` serve.
std::set<std::string> servedModels(std::span<const Value* const> observed, std::span<const Write> earlier) {
  std::set<std::string> names;
  for (const Value* object : observed) {
    if (json::findText(object, "kind") != api::kDynamoComponentDeployment || isBeingDeleted(*object))
      continue;
    const bool deleted = std::any_of(earlier.begin(), earlier.end(), [&](const Write& write) {
      return write.verb == Write::Verb::Delete && write.target.uid == uidOf(*object);
    });
    const std::string_view model = json::findText(json::findObject(specOf(*object), "modelRef"), "name");
    if (!deleted && !model.empty())
      names.insert(std::string{render::kModelServicePrefix} + render::modelHash(model));
  }
  return names;
}

/// Takes `owner` from the owners of a shared object, or deletes the object if there is no other one. Another
/// controller may add itself meanwhile, so the write is for this version of the object.
std::optional<Write> release(const Value& object, const Value& owner, json::Allocator& allocator) {
  const auto owners = ownersOf(object);
  const json::Maker make{allocator};
  Value others = make.list();
  for (const Value& reference : owners) {
    if (!isOwner(owner, reference, object)) make.push(others, make.value(reference));
  }
  if (others.Size() == owners.size()) return std::nullopt;
  if (!others.Empty())
    return patchOf(object, make.object("metadata", make.object("ownerReferences", std::move(others))), true);
  Write deletion = deletionOf(object);
  deletion.target = referenceTo(object, true);
  return deletion;
}

}  // namespace

std::vector<Write> surplusChildren(const Value& owner, const std::vector<render::Child>& rendered,
                                   std::span<const Value* const> observed, json::Allocator& allocator,
                                   std::span<const Write> earlier) {
  std::set<k8s::ObjectKey> desired;
  std::set<std::string_view> workers;  // services
  for (const render::Child& child : rendered) {
    desired.insert(child.key);
    if (isWorker(child.object)) workers.insert(serviceOf(child.object));
  }
  const std::set<std::string> models = servedModels(observed, earlier);
  // The graph of a component decides about the Services of models. The reference operator made its components
  // their owners.
  const bool ownsModels = model::graphOwner(owner) == nullptr;
  std::vector<Write> deletions;
  for (const Value* child : observed) {
    if (isBeingDeleted(*child)) continue;
    const k8s::ObjectKey key = k8s::keyOf(*child);
    if (desired.contains(key)) continue;
    const render::ChildKind kind = render::childKind(key);
    if (ownsModels && isModelService(kind) && !models.contains(key.name)) {
      if (std::optional<Write> write = release(*child, owner, allocator))
        deletions.push_back(std::move(*write));
    }
    if (kind.policy != render::Policy::Applied || !isControlledBy(*child, owner)) continue;
    // The rolling update deletes the earlier generations of workers (quirk ctl-Q48).
    if (isWorker(*child) && workers.contains(serviceOf(*child))) continue;
    deletions.push_back(deletionOf(*child));
  }
  return deletions;
}

}  // namespace dynamo::lifecycle
