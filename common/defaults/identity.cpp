#include "common/defaults/identity.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/k8s/object.h"

namespace dynamo::defaults {
namespace {

using json::Value;
using k8s::specOf;

const Value* metadataOf(const Value& object) {
  return json::findObject(&object, "metadata");
}

/// The graph that a component on its own belongs to: its label, else its own name (quirk pod-Q27).
std::string_view graphOfComponent(const Value& deployment) {
  for (const Value* holder : {metadataOf(deployment), specOf(deployment)}) {
    const std::string_view name = json::findText(json::findObject(holder, "labels"), api::label::kGraph);
    if (!name.empty()) return name;
  }
  return json::findText(metadataOf(deployment), "name");
}

std::vector<std::string_view> namesOf(const Value* list) {
  std::vector<std::string_view> names;
  if (list == nullptr || !list->IsArray()) return names;
  for (const Value& item : list->GetArray()) names.push_back(json::findText(&item, "name"));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

Surroundings surroundingsOf(const Value& object, std::string_view fallbackNamespace) {
  Surroundings around;
  const Value* metadata = metadataOf(object);
  const std::string_view ownNamespace = json::findText(metadata, "namespace");
  around.namespaceName = ownNamespace.empty() ? fallbackNamespace : ownNamespace;
  if (json::findText(&object, "kind") == api::kDynamoComponentDeployment) {
    around.graph = graphOfComponent(object);
    return around;
  }
  around.graph = json::findText(metadata, "name");
  around.discovery = json::findText(k8s::annotationsOf(object), api::annotation::kDiscoveryBackend);
  around.envNames = namesOf(json::find(specOf(object), "envs"));
  return around;
}

const Value* graphOwner(const Value& object) {
  const Value* owners = json::find(metadataOf(object), "ownerReferences");
  if (owners == nullptr || !owners->IsArray()) return nullptr;
  for (const Value& owner : owners->GetArray()) {
    if (json::findText(&owner, "kind") == api::kDynamoGraphDeployment) return &owner;
  }
  return nullptr;
}

std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph) {
  if (global) return "dynamo";
  if (namespaceName.empty() || graph.empty()) return {};
  std::string name{namespaceName};
  name.append("-").append(graph);
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(namespaceName.size()), name.end(), '.', '-');
  return name;
}

std::string_view discoveryBackend(std::string_view component, std::string_view graph,
                                  std::string_view configured) {
  for (const std::string_view value : {component, graph}) {
    if (!value.empty()) return value == "etcd" ? "etcd" : "kubernetes";
  }
  return configured == "etcd" ? "etcd" : "kubernetes";
}

}  // namespace dynamo::defaults
