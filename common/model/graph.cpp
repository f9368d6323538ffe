#include "common/model/graph.h"

#include <algorithm>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/k8s/object.h"
#include "common/model/names.h"

namespace dynamo::model {
namespace {

using json::Value;

std::string_view graphNameOf(const ResolvedGraph& graph) {
  if (graph.isGraph) return graph.name;
  if (graph.graphOwner != nullptr) return json::findText(graph.graphOwner, "name");
  for (const Value* holder : {graph.metadata, graph.spec}) {
    const std::string_view name = json::findText(json::findObject(holder, "labels"), api::label::kGraph);
    if (!name.empty()) return name;
  }
  return graph.name;
}

std::string_view backendIn(const Value* annotations) {
  return json::findText(annotations, api::annotation::kDiscoveryBackend);
}

}  // namespace

ResolvedGraph resolveGraph(const Value& object, std::string_view fallbackNamespace) {
  const bool isGraph = json::findText(&object, "kind") != api::kDynamoComponentDeployment;
  return resolveGraphAs(object, isGraph, fallbackNamespace);
}

ResolvedGraph resolveGraphAs(const Value& object, bool isGraph, std::string_view fallbackNamespace) {
  ResolvedGraph graph{object,
                      json::findObject(&object, "metadata"),
                      k8s::specOf(object),
                      k8s::annotationsOf(object),
                      isGraph,
                      {},
                      {},
                      {},
                      nullptr};
  graph.name = json::findText(graph.metadata, "name");
  graph.namespaceName = json::findText(graph.metadata, "namespace");
  if (graph.namespaceName.empty()) graph.namespaceName = fallbackNamespace;
  if (!graph.isGraph) graph.graphOwner = graphOwner(object);
  graph.graphName = graphNameOf(graph);
  return graph;
}

Component resolveComponent(const ResolvedGraph& graph, const Value& spec, field::Path path,
                           std::string_view key, std::string_view configuredDiscovery) {
  Component component{spec, std::move(path), std::string{key}, {}, {}, {}, {}, {}, {}, 1};
  component.type = json::findText(&spec, "componentType");
  component.graph = graph.graphName;
  component.namespaceName = graph.namespaceName;
  component.discovery = discoveryBackend(backendIn(json::findObject(&spec, "annotations")),
                                         graph.isGraph ? backendIn(graph.annotations) : std::string_view{},
                                         configuredDiscovery);
  component.dynamoNamespace = dynamoNamespace(json::findBool(&spec, "globalDynamoNamespace").value_or(false),
                                              graph.namespaceName, graph.graphName);
  component.framework = detectFramework(spec, json::findText(graph.spec, "backendFramework"));
  component.nodes = nodeCount(spec);
  return component;
}

std::vector<Component> resolveComponents(const ResolvedGraph& graph, std::string_view configuredDiscovery) {
  std::vector<Component> components;
  if (!graph.isGraph) {
    static const Value kNothing{rapidjson::kObjectType};
    const std::string_view given = json::findText(graph.spec, "serviceName");
    components.push_back(resolveComponent(graph, graph.spec == nullptr ? kNothing : *graph.spec,
                                          field::Path{"spec"}, given.empty() ? graph.name : given,
                                          configuredDiscovery));
    return components;
  }
  std::vector<std::pair<std::string_view, const Value*>> services;
  if (const Value* given = json::findObject(graph.spec, "services")) {
    for (const auto& service : given->GetObject()) {
      if (service.value.IsObject()) services.emplace_back(json::text(service.name), &service.value);
    }
  }
  std::sort(services.begin(), services.end());
  components.reserve(services.size());
  for (const auto& [key, spec] : services) {
    components.push_back(
        resolveComponent(graph, *spec, field::Path{"spec.services"}.key(key), key, configuredDiscovery));
  }
  return components;
}

std::optional<std::string_view> serviceIn(field::PathView path) {
  static const field::Path kServices{"spec.services"};
  if (!path.isWithin(kServices)) return std::nullopt;
  const field::PathView below = path.below(kServices);
  return below.empty() ? std::nullopt : std::optional{below.front().name};
}

const Value* graphOwner(const Value& object) {
  for (const Value& owner : k8s::ownersOf(object)) {
    if (json::findText(&owner, "kind") == api::kDynamoGraphDeployment) return &owner;
  }
  return nullptr;
}

std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph) {
  if (global) return "dynamo";
  if (namespaceName.empty() || graph.empty()) return {};
  return std::string{namespaceName} + '-' + dashed(graph);
}

std::string_view discoveryBackend(std::string_view component, std::string_view graph,
                                  std::string_view configured) {
  for (const std::string_view value : {component, graph}) {
    if (!value.empty()) return value == "etcd" ? "etcd" : "kubernetes";
  }
  return configured == "etcd" ? "etcd" : "kubernetes";
}

long long nodeCount(const Value& component) {
  const Value* count = json::find(json::findObject(&component, "multinode"), "nodeCount");
  return count != nullptr && count->IsInt64() ? count->GetInt64() : 1;
}

}  // namespace dynamo::model
