// Renders the DynamoComponentDeployment of a service, and the children of a DynamoComponentDeployment.
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/model/graph.h"
#include "common/model/names.h"
#include "common/render/checkpoint.h"
#include "common/render/deployment_config.h"
#include "common/render/graph_component.h"
#include "common/render/metadata.h"
#include "common/render/network.h"
#include "common/render/object.h"
#include "common/render/origin.h"
#include "common/render/rbac.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// Of a component on its own. Its labels are those of the object over those of its spec.
Origins standaloneOrigins(const Component& component, const Value& deployment) {
  Origins origins = componentOrigins(component, deployment);
  if (const Value* labels = labelsOf(deployment)) {
    for (const auto& member : labels->GetObject()) {
      const std::string_view key = json::text(member.name);
      if (member.value.IsNull()) continue;
      origins.user(field::Path{"labels"}.key(key), field::Path{"metadata.labels"}.key(key));
    }
  }
  return origins;
}

Component componentOf(const model::ResolvedGraph& deployment, const field::Path& path, const Context& context,
                      const Origins* origins, Errors& errors, Allocator& allocator) {
  static const Value kNothing{rapidjson::kObjectType};
  const std::string_view service = json::findText(deployment.spec, "serviceName");
  Component component{
      model::resolveComponent(deployment, deployment.spec == nullptr ? kNothing : *deployment.spec, path,
                              service.empty() ? deployment.name : service, context.config.discoveryBackend)};
  component.annotations = json::findObject(&component.spec, "annotations");
  Value labels{rapidjson::kObjectType};
  layOver(labels, json::findObject(&component.spec, "labels"), allocator);
  layOver(labels, labelsOf(deployment.object), allocator);
  component.labels = keep(std::move(labels), allocator);
  component.envs = json::find(component.spec, "envs");
  component.hosts = {false, std::string{deployment.name}, component.nodes};
  if (context.recordOrigins) {
    component.origins = std::make_shared<Origins>(
        origins != nullptr ? *origins : standaloneOrigins(component, deployment.object));
  }
  resolveForPods(component, context.facts);
  reportFrameworkConflict(component, errors);
  return component;
}

}  // namespace

Value componentDeployment(const Value& graph, const Component& component, std::string_view hash,
                          const Context& context, const LifecycleInputs& inputs, Origins* origins,
                          Allocator& allocator) {
  const json::Maker make{allocator};
  if (origins != nullptr) *origins = *component.origins;
  const bool worker = api::isWorkerType(component.type);
  Value labels = make.object();
  layOver(labels, component.labels, allocator);
  make.set(labels, api::label::kComponent, component.key);
  make.set(labels, api::label::kNamespace, component.dynamoNamespace);
  make.set(labels, api::label::kGraph, component.graph);
  if (worker) make.set(labels, api::label::kWorkerHash, hash);

  Value spec = make.value(component.spec);
  if (component.annotations != nullptr) make.set(spec, "annotations", *component.annotations);
  if (component.envs != nullptr) make.set(spec, "envs", *component.envs);
  const std::optional<long long> workers = applyDeploymentConfig(component.key, spec, origins, allocator);
  make.set(spec, "labels", labels);
  make.set(spec, "serviceName", component.key);
  make.set(spec, "dynamoNamespace", component.dynamoNamespace);
  const std::string_view framework = json::findText(specOf(graph), "backendFramework");
  if (!framework.empty()) make.set(spec, "backendFramework", framework);
  if (component.type == api::kPlanner) {
    Value& pod = json::ensureObject(spec, "extraPodSpec", allocator);
    if (json::findText(&pod, "serviceAccountName").empty()) {
      make.set(pod, "serviceAccountName", api::kPlannerServiceAccount);
      if (origins != nullptr) {
        origins->byOperator(field::Path{"extraPodSpec.serviceAccountName"}, component.path);
      }
    }
  }
  if (component.type == api::kFrontend && json::findObject(&spec, "ingress") == nullptr) {
    make.set(spec, "ingress", defaultIngress(component.graph, context.config.ingress, allocator));
  }
  if (workers && json::find(spec, "replicas") == nullptr) make.set(spec, "replicas", *workers);
  const auto rolling = inputs.workerReplicas.find(component.key);
  if (worker && rolling != inputs.workerReplicas.end()) make.set(spec, "replicas", rolling->second);

  Value deployment =
      makeObject(api::kV1alpha1, api::kDynamoComponentDeployment,
                 model::componentDeploymentName(component.graph, component.key, component.type, hash),
                 component.namespaceName, allocator);
  setMetadata(deployment, "labels", std::move(labels), allocator);
  setOwner(deployment, graph, allocator);
  make.set(deployment, "spec", std::move(spec));
  return deployment;
}

void renderComponent(const Value& deployment, const field::Path& path, const Context& context,
                     const Origins* origins, std::span<const long long> setNumbers, Children& children) {
  const std::size_t before = children.errors.size();
  const auto failed = [&] { return children.errors.size() != before; };
  Allocator& allocator = children.memory();
  const model::ResolvedGraph resolved = model::resolveGraph(deployment);
  const Component component = componentOf(resolved, path, context, origins, children.errors, allocator);
  if (failed()) return;
  const bool standalone = resolved.graphOwner == nullptr;
  if (standalone && component.discovery == "kubernetes") {
    renderDiscoveryAccess(deployment, component.graph, component.namespaceName, children);
  }
  if (component.multinode() && lwsEnabled(context)) {
    renderLeaderWorkerSets(deployment, component, context, setNumbers, children);
  } else {
    renderDeployment(deployment, component, context, children);
  }
  if (failed()) return;
  const std::string name{nameOf(deployment)};
  renderComponentService(deployment, component, model::dashed(name), componentLabels(component, allocator),
                         componentAnnotations(component, allocator), true, children);
  const std::string_view model = json::findText(json::findObject(&component.spec, "modelRef"), "name");
  if (standalone && !model.empty()) renderModelService(deployment, model, false, children);
  renderRoutes(deployment, component, name, context, children);
}

Children renderComponentDeployment(const Value& deployment, const Context& context,
                                   std::span<const long long> setNumbers) {
  Children children;
  if (!canOwn(deployment, context, kUidField, children.errors)) return children;
  renderComponent(deployment, field::Path{"spec"}, context, nullptr, setNumbers, children);
  return children;
}

}  // namespace dynamo::render
