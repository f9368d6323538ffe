// Quirks ctl-Q2, ctl-Q57, child-Q8.
#include "common/lifecycle/graph_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/k8s/names.h"
#include "common/lifecycle/clique_scale.h"
#include "common/lifecycle/grove_limits.h"
#include "common/lifecycle/object.h"
#include "common/model/graph.h"
#include "common/model/names.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

/// Whether the controller of the object is of this kind and not `owner` (nullptr: does not exist). The
/// children of a deleted graph of the same name have the same names until they are collected.
bool hasOtherController(const Value& object, std::string_view kind, const Value* owner) {
  const Value* controller = controllerOf(object);
  return controller != nullptr && json::findText(controller, "kind") == kind &&
         (owner == nullptr || !isOwner(*owner, *controller, object));
}

const Value* findChild(std::span<const Value* const> objects, std::string_view name, std::string_view kind,
                       const Value* owner) {
  const auto found =
      std::find_if(objects.begin(), objects.end(), [&](const Value* o) { return nameOf(*o) == name; });
  return found == objects.end() || hasOtherController(**found, kind, owner) ? nullptr : *found;
}

void observeComponent(const GraphView& view, ServiceState& service) {
  service.kind = api::kDynamoComponentDeployment;
  service.childName = model::componentDeploymentName(
      nameOf(view.graph), service.name, json::findText(service.spec, "componentType"), view.workerHash);
  service.child = findChild(view.components, service.childName, api::kDynamoGraphDeployment, &view.graph);
  // A component with another controller is not the graph's, whatever its labels say.
  if (service.child != nullptr && controllerOf(*service.child) != nullptr &&
      !isControlledBy(*service.child, view.graph))
    service.child = nullptr;
  service.readiness = componentDeploymentReadiness(service.child);
}

void observeClique(const GraphView& view, ServiceState& service) {
  const bool group = service.spec != nullptr && model::nodeCount(*service.spec) > 1;
  service.kind = group ? "PodCliqueScalingGroup" : "PodClique";
  service.childName = model::componentName(model::dashed(nameOf(view.graph)) + "-0", service.name);
  service.child = findChild(group ? view.scalingGroups : view.podCliques, service.childName, "PodCliqueSet",
                            view.podCliqueSet);
  service.scaledByOthers = isScaledByOthers(view, service);
  const std::optional<std::int64_t> expected = service.scaledByOthers ? std::nullopt : service.desired;
  service.readiness = group
                          ? scalingGroupReadiness(service.child, view.podCliqueSet, expected, view.podCliques)
                          : podCliqueReadiness(service.child, view.podCliqueSet, expected);
  const std::int64_t replicas = service.child == nullptr ? 0 : countAt(specOf(*service.child), "replicas", 1);
  if (keepsReplicas(service)) {
    service.readiness = {
        false, std::string{reason::kScaling},
        fmt::format("keeps {} replicas: Grove does not run a service with several nodes with 0", replicas)};
  } else if (service.readiness.ready && replicas == 0 && service.desired.value_or(0) > 0) {
    service.readiness = {false, std::string{reason::kPaused},
                         fmt::format("is scaled to 0 replicas instead of {}", *service.desired)};
  }
}

}  // namespace

std::vector<ServiceState> serviceStates(const GraphView& view) {
  std::vector<ServiceState> states;
  const Value* services = json::findObject(specOf(view.graph), "services");
  if (services == nullptr) return states;
  states.reserve(services->MemberCount());
  for (const auto& entry : services->GetObject()) {
    ServiceState service;
    service.name = json::text(entry.name);
    if (entry.value.IsObject()) {
      service.spec = &entry.value;
      service.worker = api::isWorkerType(json::findText(&entry.value, "componentType"));
      if (json::find(entry.value, "replicas") != nullptr) service.desired = countAt(&entry.value, "replicas");
    }
    if (view.grove) {
      observeClique(view, service);
    } else {
      observeComponent(view, service);
    }
    states.push_back(std::move(service));
  }
  std::sort(states.begin(), states.end(),
            [](const ServiceState& a, const ServiceState& b) { return a.name < b.name; });
  return states;
}

bool isOrphanedGeneration(const Value& component, const Value& graph) {
  const std::string_view hash = labelOf(component, api::label::kWorkerHash);
  if (controllerOf(component) != nullptr || hash.empty() ||
      labelOf(component, api::label::kGraph) != nameOf(graph))
    return false;
  const Value* spec = specOf(component);
  return nameOf(component) == model::componentDeploymentName(nameOf(graph),
                                                             json::findText(spec, "serviceName"),
                                                             json::findText(spec, "componentType"), hash);
}

std::vector<const Value*> ownComponents(const GraphView& view) {
  std::vector<const Value*> own;
  std::copy_if(view.components.begin(), view.components.end(), std::back_inserter(own), [&](const Value* c) {
    return !isBeingDeleted(*c) && (isControlledBy(*c, view.graph) || isOrphanedGeneration(*c, view.graph));
  });
  return own;
}

std::string_view restartOf(const GraphView& view, const ServiceState& service) {
  if (!view.grove) {
    if (service.child == nullptr) return {};
    return json::findText(json::findObject(specOf(*service.child), "annotations"),
                          api::annotation::kRestartAt);
  }
  if (view.podCliqueSet == nullptr) return {};
  const Value* cliques = json::find(json::findObject(specOf(*view.podCliqueSet), "template"), "cliques");
  if (cliques == nullptr || !cliques->IsArray()) return {};
  const std::string base = k8s::lowerAscii(service.name);
  for (const Value& clique : cliques->GetArray()) {
    const std::string_view name = json::findText(&clique, "name");
    if (name != base && name != base + "-ldr" && name != base + "-wkr") continue;
    return json::findText(json::findObject(&clique, "annotations"), api::annotation::kRestartAt);
  }
  return {};
}

}  // namespace dynamo::lifecycle
