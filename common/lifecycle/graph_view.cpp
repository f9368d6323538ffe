// Quirks ctl-Q2, child-Q8.
#include "common/lifecycle/graph_view.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/k8s/names.h"
#include "common/lifecycle/object.h"
#include "common/model/graph.h"
#include "common/model/names.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

const Value* findByName(std::span<const Value* const> objects, std::string_view name) {
  const auto found =
      std::find_if(objects.begin(), objects.end(), [&](const Value* o) { return nameOf(*o) == name; });
  return found == objects.end() ? nullptr : *found;
}

void observeComponent(const GraphView& view, ServiceState& service) {
  service.kind = api::kDynamoComponentDeployment;
  service.childName = model::componentDeploymentName(
      nameOf(view.graph), service.name, json::findText(service.spec, "componentType"), view.workerHash);
  service.child = findByName(view.components, service.childName);
  service.readiness = componentDeploymentReadiness(service.child);
}

/// Whether another PodCliqueSet controls the object. Those of a deleted graph of the same name have the same
/// names until they are collected.
bool isOfAnotherSet(const Value& object, const Value* set) {
  if (set == nullptr) return false;
  const auto owners = ownersOf(object);
  return std::any_of(owners.begin(), owners.end(), [&](const Value& owner) {
    return json::findBool(&owner, "controller").value_or(false) &&
           json::findText(&owner, "kind") == "PodCliqueSet" && json::findText(&owner, "uid") != uidOf(*set);
  });
}

const Value* findOfSet(std::span<const Value* const> objects, std::string_view name, const Value* set) {
  const Value* found = findByName(objects, name);
  return found == nullptr || isOfAnotherSet(*found, set) ? nullptr : found;
}

void observeClique(const GraphView& view, ServiceState& service) {
  const bool group = service.spec != nullptr && model::nodeCount(*service.spec) > 1;
  service.kind = group ? "PodCliqueScalingGroup" : "PodClique";
  service.childName = model::componentName(model::dashed(nameOf(view.graph)) + "-0", service.name);
  if (group) {
    service.child = findOfSet(view.scalingGroups, service.childName, view.podCliqueSet);
    service.readiness =
        scalingGroupReadiness(service.child, view.podCliqueSet, service.desired, view.podCliques);
  } else {
    service.child = findOfSet(view.podCliques, service.childName, view.podCliqueSet);
    service.readiness = podCliqueReadiness(service.child, view.podCliqueSet, service.desired);
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

std::vector<const Value*> ownComponents(const GraphView& view) {
  std::vector<const Value*> own;
  std::copy_if(view.components.begin(), view.components.end(), std::back_inserter(own),
               [&](const Value* c) { return !isBeingDeleted(*c) && isControlledBy(*c, view.graph); });
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
