#include "controller/view/child_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/k8s/drift.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/outdated_generation.h"
#include "common/lifecycle/reconcile.h"
#include "common/lifecycle/surplus.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::labelOf;
using lifecycle::specOf;
using Observed = std::span<const Value* const>;
using Live = std::map<k8s::ObjectKey, const Value*>;

/// The uid of a component deployment that does not exist yet. Its children do not exist either, so no
/// difference contains it.
constexpr std::string_view kFutureUid = "00000000-0000-0000-0000-000000000000";

Live byKey(Observed observed) {
  Live live;
  for (const Value* object : observed) live.emplace(k8s::keyOf(*object), object);
  return live;
}

const Value* find(const Live& live, const k8s::ObjectKey& key) {
  const auto found = live.find(key);
  return found == live.end() ? nullptr : found->second;
}

json::Document copyOf(const Value& object) {
  json::Document copy;
  static_cast<Value&>(copy) = json::copy(object, copy.GetAllocator());
  return copy;
}

/// Returns a rendered component deployment as the API server will store it.
json::Document stored(const Value& rendered, const Value* live) {
  json::Document object = copyOf(rendered);
  auto& allocator = object.GetAllocator();
  const json::Maker make{allocator};
  const auto* node = schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  if (node != nullptr) schema::applySchemaDefaults(*node, object, allocator);
  make.set(json::ensureObject(object, "metadata", allocator), "uid",
           live == nullptr ? kFutureUid : lifecycle::uidOf(*live));
  return object;
}

bool isComponent(const Value& object) {
  return json::findText(&object, "kind") == api::kDynamoComponentDeployment;
}

std::string withHash(std::string text, std::string_view from, std::string_view to) {
  if (const std::size_t at = from.empty() ? std::string::npos : text.find(from); at != std::string::npos)
    text.replace(at, from.size(), to);
  return text;
}

/// The change of the Deployment `live` of an outdated worker generation.
ChildChange scalingOf(const Value& live, const Value& component) {
  json::Document memory;
  const auto scale = lifecycle::scaleOutdated(component, &live, memory.GetAllocator());
  return scale ? patchOf(live, scale->patch) : unchanged(live);
}

class Comparison {
 public:
  Comparison(const std::vector<OwnedChildren>& plan, Observed observed, std::string_view manager)
      : plan_(plan), observed_(observed), live_(byKey(observed)), manager_(manager) {
    for (const OwnedChildren& owned : plan) {
      for (const render::Child& child : owned.children.items) planned_.insert(child.key);
    }
  }

  std::vector<ChildChange> run() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const OwnedChildren& owned = plan_[i];
      const Value* earlier = isComponent(owned.owner) && i > 0 ? earlierGeneration(owned.owner) : nullptr;
      for (const render::Child& child : owned.children.items)
        addChild(child, earlier, owned.owner, owned.outdated);
      // If rendering failed, `children` may be incomplete.
      if (owned.children.errors.empty()) addSurplus(owned);
    }
    addEarlierGenerations();
    return std::move(changes_);
  }

 private:
  void addChild(const render::Child& child, const Value* earlierOwner, const Value& owner, bool outdated) {
    const Value* live = find(live_, child.key);
    const Value* earlier = nullptr;
    const Value& generation = isComponent(child.object) ? child.object : owner;
    if (live == nullptr && isComponent(child.object)) earlier = earlierGeneration(child.object);
    if (live == nullptr && earlierOwner != nullptr) earlier = sameChild(child, *earlierOwner, owner);
    if (earlier == nullptr) {
      const bool scaled = outdated && live != nullptr && child.key.kind == "Deployment";
      changes_.push_back(scaled ? scalingOf(*live, owner) : changeOf(child, live, manager_));
      return;
    }
    const Value& from = earlierOwner == nullptr ? *earlier : *earlierOwner;
    changes_.push_back(successorOf(child, *earlier, labelOf(from, api::label::kWorkerHash),
                                   labelOf(generation, api::label::kWorkerHash), manager_));
  }

  /// Returns the live component deployment of the same service with another worker hash. If there are
  /// several, returns the newest. Returns nullptr if `component` is not a worker.
  const Value* earlierGeneration(const Value& component) const {
    const std::string_view hash = labelOf(component, api::label::kWorkerHash);
    const Value* newest = nullptr;
    if (hash.empty()) return nullptr;
    const auto created = [](const Value& object) {
      return json::findText(lifecycle::metadataOf(object), "creationTimestamp");
    };
    for (const Value* object : observed_) {
      if (!isComponent(*object) || !lifecycle::isControlledBy(*object, plan_.front().owner) ||
          labelOf(*object, api::label::kWorkerHash) == hash ||
          json::findText(specOf(*object), "serviceName") !=
              json::findText(specOf(component), "serviceName")) {
        continue;
      }
      if (newest == nullptr || created(*newest) < created(*object)) newest = object;
    }
    return newest;
  }

  /// Returns the live child of `earlierOwner` whose name differs from `child` only in the hash.
  const Value* sameChild(const render::Child& child, const Value& earlierOwner, const Value& owner) const {
    k8s::ObjectKey key = child.key;
    key.name = withHash(key.name, labelOf(owner, api::label::kWorkerHash),
                        labelOf(earlierOwner, api::label::kWorkerHash));
    return key.name == child.key.name ? nullptr : find(live_, key);
  }

  void addSurplus(const OwnedChildren& owned) {
    json::Document memory;
    for (const lifecycle::Write& write :
         lifecycle::surplusChildren(owned.owner, owned.children.items, observed_, memory.GetAllocator())) {
      if (write.verb != lifecycle::Write::Verb::Delete) continue;
      for (const Value* object : observed_) {
        if (lifecycle::uidOf(*object) == write.target.uid) addDeletion(*object, "");
      }
    }
  }

  void addEarlierGenerations() {
    const OwnedChildren& root = plan_.front();
    if (!root.children.errors.empty() || isComponent(root.owner)) return;
    for (const Value* object : observed_) {
      if (isComponent(*object) && lifecycle::isControlledBy(*object, root.owner))
        addDeletion(*object, "when the rolling update ends");
    }
  }

  /// Adds the deletion of an object and of the objects that it controls.
  void addDeletion(const Value& object, const std::string& note) {
    if (planned_.contains(k8s::keyOf(object)) || !deleted_.insert(&object).second) return;
    changes_.push_back(deletionOf(object, note));
    for (const Value* other : observed_) {
      if (lifecycle::isControlledBy(*other, object) && json::findText(other, "kind") != "Pod")
        addDeletion(*other, note.empty() ? "with its owner" : note);
    }
  }

  const std::vector<OwnedChildren>& plan_;
  Observed observed_;
  Live live_;
  std::string_view manager_;
  std::set<k8s::ObjectKey> planned_;
  std::set<const Value*> deleted_;
  std::vector<ChildChange> changes_;
};

/// A new generation of workers begins with few replicas. Shows those at the end of the rolling update.
void growNewGenerations(const Value& graph, const render::Context& context, const Live& live,
                        lifecycle::GraphReconcile& reconcile) {
  if (reconcile.plan.inputs.workerReplicas.empty()) return;
  reconcile.plan.inputs.workerReplicas.clear();
  render::Context decided{context};
  decided.grove = reconcile.grove;
  decided.online = true;
  const render::Children updated = render::renderGraph(graph, decided, reconcile.plan.inputs);
  for (render::Child& child : reconcile.children.items) {
    if (!isComponent(child.object) || find(live, child.key) != nullptr) continue;
    const auto same = std::find_if(updated.items.begin(), updated.items.end(),
                                   [&](const render::Child& other) { return other.key == child.key; });
    if (same != updated.items.end()) child.object = json::copy(same->object, reconcile.children.memory());
  }
}

void planComponent(OwnedChildren& component, Observed observed, const render::Context& context) {
  lifecycle::ComponentReconcile reconcile =
      lifecycle::planComponentReconcile(component.owner, observed, context);
  component.children = std::move(reconcile.children);
  component.outdated = reconcile.outdated;
}

}  // namespace

std::vector<OwnedChildren> planChildren(const Value& root, Observed observed, const render::Context& context,
                                        lifecycle::Time now) {
  std::vector<OwnedChildren> plan(1);
  plan.front().owner = copyOf(root);
  const Value& owner = plan.front().owner;
  if (isComponent(root)) {
    planComponent(plan.front(), observed, context);
    return plan;
  }
  json::Document memory;
  const Live live = byKey(observed);
  lifecycle::GraphReconcile reconcile =
      lifecycle::planGraphReconcile(owner, observed, context, now, memory.GetAllocator());
  growNewGenerations(owner, context, live, reconcile);
  plan.front().children = std::move(reconcile.children);
  // The graph as it will be decides which worker generations it wants.
  std::vector<const Value*> withGraph{&owner};
  std::copy_if(observed.begin(), observed.end(), std::back_inserter(withGraph),
               [&](const Value* object) { return k8s::keyOf(*object) != k8s::keyOf(owner); });
  std::vector<OwnedChildren> below;
  for (const render::Child& child : plan.front().children.items) {
    if (!isComponent(child.object)) continue;
    OwnedChildren component;
    component.owner = stored(child.object, find(live, child.key));
    planComponent(component, withGraph, context);
    below.push_back(std::move(component));
  }
  std::move(below.begin(), below.end(), std::back_inserter(plan));
  return plan;
}

std::vector<ChildChange> changesOf(const std::vector<OwnedChildren>& plan, Observed observed,
                                   std::string_view manager) {
  return Comparison{plan, observed, manager}.run();
}

}  // namespace dynamo::view
