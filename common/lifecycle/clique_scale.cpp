#include "common/lifecycle/clique_scale.h"

#include <algorithm>
#include <string>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/drift.h"
#include "common/k8s/field_owner.h"
#include "common/k8s/names.h"
#include "common/lifecycle/grove_limits.h"
#include "common/lifecycle/object.h"
#include "common/render/live_cliques.h"
#include "common/render/takeover.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// The replicas that were rendered last for the clique or the group `name`.
std::optional<std::int64_t> renderedLast(const Value* podCliqueSet, const std::string& name) {
  if (podCliqueSet == nullptr) return std::nullopt;
  const std::string_view text = json::findText(annotationsOf(*podCliqueSet), render::kRenderedReplicas);
  json::Document record;
  if (!text.empty() && !json::parse(text, record) && record.IsObject()) {
    const Value* number = json::find(record, name);
    if (number != nullptr && number->IsInt64()) return number->GetInt64();
  }
  const render::LiveCliques cliques{podCliqueSet};
  if (const Value* group = cliques.group(name)) return countAt(group, "replicas", 1);
  if (const Value* clique = cliques.clique(name))
    return countAt(json::findObject(clique, "spec"), "replicas", 1);
  return std::nullopt;
}

/// nullopt: the service has no child, or its replicas are left to others.
std::optional<render::ScaledObject> scaledObject(const GraphView& view, const ServiceState& service) {
  if (!view.grove || service.child == nullptr || !service.desired) return std::nullopt;
  const Value& child = *service.child;
  render::ScaledObject made;
  made.key = k8s::keyOf(child);
  made.replicas = countAt(specOf(child), "replicas", 1);
  made.rendered = *service.desired;
  made.last = renderedLast(view.podCliqueSet, k8s::lowerAscii(service.name));
  made.scaledBy = k8s::replicasOwner(child, api::kFieldManager);
  // The reference operator scales through the subresource, too.
  if (render::isReferenceManager(made.scaledBy)) made.scaledBy.clear();
  made.writer = k8s::fieldOwner(child, "spec.replicas", api::kFieldManager);
  made.version = json::findText(metadataOf(child), "resourceVersion");
  return made;
}

}  // namespace

bool isScaledByOthers(const GraphView& view, const ServiceState& service) {
  const auto live = scaledObject(view, service);
  return live && render::isScaledByOthers(*live);
}

render::WritePlan planScale(const GraphView& view, const ServiceState& service, json::Allocator& allocator) {
  const auto live = scaledObject(view, service);
  if (!live || isBeingDeleted(*service.child) || keepsReplicas(service)) return {};
  return render::planScale(*live, view.contests, view.clock, allocator);
}

void recordReplicas(const GraphView& view, render::Children& children) {
  const auto set = std::find_if(children.items.begin(), children.items.end(),
                                [](const render::Child& child) { return child.key.kind == "PodCliqueSet"; });
  if (set == children.items.end()) return;
  const json::Maker make{children.memory()};
  Value record = make.object();
  for (const ServiceState& service : serviceStates(view)) {
    if (!service.desired) continue;
    const auto live = scaledObject(view, service);
    const bool takenBack = live && !live->scaledBy.empty() && live->replicas != live->rendered;
    const std::int64_t number = takenBack ? live->last.value_or(live->rendered) : *service.desired;
    if (number != *service.desired || number == 0) make.set(record, k8s::lowerAscii(service.name), number);
  }
  if (record.ObjectEmpty()) return;
  Value& metadata = json::ensureObject(set->object, "metadata", children.memory());
  make.set(json::ensureObject(metadata, "annotations", children.memory()), render::kRenderedReplicas,
           json::dump(record));
}

}  // namespace dynamo::lifecycle
