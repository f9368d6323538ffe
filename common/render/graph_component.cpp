#include "common/render/graph_component.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/render/checkpoint.h"
#include "common/render/env.h"
#include "common/render/names.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

void handDownAnnotations(const Value& graph, Value& spec, Allocator& allocator) {
  const Value* from = annotationsOf(graph);
  for (const std::string_view key : api::kPropagatedAnnotations) {
    const Value* value = json::find(from, key);
    const Value* own = json::find(json::findObject(&spec, "annotations"), key);
    // An empty backend decides nothing: the graph's does (quirk pod-Q26).
    const bool decided =
        key != api::annotation::kDiscoveryBackend || (own != nullptr && !json::isEmpty(*own));
    if (value == nullptr || (own != nullptr && decided)) continue;
    json::set(json::ensureObject(spec, "annotations", allocator), key, json::copy(*value, allocator),
              allocator);
  }
}

Component makeComponent(const Value& graph, std::string_view service, const Value& given,
                        const Context& context, Errors& errors, Allocator& allocator) {
  Component component;
  component.service = service;
  component.path = "spec.services[" + component.service + "]";
  component.graph = nameOf(graph);
  component.namespaceName = namespaceOf(graph);
  component.spec = aliasOf(given, allocator);
  Value& spec = component.spec;
  const bool global = json::findBool(&spec, "globalDynamoNamespace").value_or(false);
  component.dynamoNamespace = dynamoNamespace(global, component.namespaceName, component.graph);
  const Value* graphEnvs = json::find(specOf(graph), "envs");
  if (graphEnvs != nullptr && graphEnvs->IsArray() && !graphEnvs->Empty()) {
    Value merged{rapidjson::kArrayType};
    for (const Value* variable : mergedEnv({graphEnvs, json::find(spec, "envs")})) {
      merged.PushBack(json::alias(*variable), allocator);
    }
    json::set(spec, "envs", std::move(merged), allocator);
  }
  component.discovery = discoveryBackend(json::findObject(&spec, "annotations"), annotationsOf(graph),
                                         context.config.discoveryBackend);
  handDownAnnotations(graph, spec, allocator);
  component.framework = detectFramework(spec, json::findText(specOf(graph), "backendFramework"));
  component.hosts.service = component.service;
  component.hosts.nodes = nodeCount(spec);
  component.hosts.grove = usesGrove(graph, context);
  component.workerHash = api::isWorkerType(component.type())
                             ? json::findText(json::findObject(&spec, "labels"), api::label::kWorkerHash)
                             : std::string_view{};
  component.checkpoint = resolveCheckpoint(component, context.facts);
  tellFramework(component, errors);
  return component;
}

}  // namespace

Value aliasOf(const Value& spec, Allocator& allocator) {
  Value members = json::alias(spec);
  json::own(members, allocator);
  if (Value* annotations = json::find(members, "annotations")) json::own(*annotations, allocator);
  return members;
}

void tellFramework(const Component& component, Errors& errors) {
  if (component.framework.error.empty()) return;
  const Value* command = json::find(component.mainContainer(), "command");
  const bool inCommand = command != nullptr && json::dump(*command).find("dynamo.") != std::string::npos;
  errors.push_back(
      {field::ErrorType::Invalid,
       component.at(inCommand ? "extraPodSpec.mainContainer.command" : "extraPodSpec.mainContainer.args"), "",
       component.framework.error, "render.framework"});
}

std::string discoveryBackend(const Value* serviceAnnotations, const Value* graphAnnotations,
                             std::string_view configured) {
  for (const Value* layer : {serviceAnnotations, graphAnnotations}) {
    const std::string_view value = json::findText(layer, api::annotation::kDiscoveryBackend);
    if (!value.empty()) return value == "etcd" ? "etcd" : "kubernetes";
  }
  return configured == "etcd" ? "etcd" : "kubernetes";
}

std::vector<Component> graphComponents(const Value& graph, const Context& context, const Observed& observed,
                                       Errors& errors, Allocator& allocator) {
  std::vector<Component> components;
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return components;
  const auto restarts = restartAnnotations(graph, observed);
  for (const auto& entry : services->GetObject()) {
    const std::string_view name = json::text(entry.name);
    if (!entry.value.IsObject()) {
      errors.push_back({field::ErrorType::Required, "spec.services[" + std::string{name} + "]", "",
                        "a service must not be null", "render.service"});
      continue;
    }
    components.push_back(makeComponent(graph, name, entry.value, context, errors, allocator));
    const auto restart = restarts.find(components.back().service);
    if (restart == restarts.end()) continue;
    Value& annotations = json::ensureObject(components.back().spec, "annotations", allocator);
    json::set(annotations, api::annotation::kRestartAt, json::string(restart->second, allocator), allocator);
  }
  std::sort(components.begin(), components.end(),
            [](const Component& a, const Component& b) { return a.service < b.service; });
  return components;
}

}  // namespace dynamo::render
