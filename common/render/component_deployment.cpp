// DGD service -> DynamoComponentDeployment -> its children.
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/identity.h"
#include "common/render/checkpoint.h"
#include "common/render/deployment_config.h"
#include "common/render/graph_component.h"
#include "common/render/metadata.h"
#include "common/render/names.h"
#include "common/render/network.h"
#include "common/render/object.h"
#include "common/render/rbac.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// The graph's name: its owner, else its label, else its own name (quirk pod-Q27).
std::string graphName(const Value& deployment, const Value& spec) {
  if (const Value* owner = defaults::graphOwner(deployment))
    return std::string{json::findText(owner, "name")};
  for (const Value* labels : {labelsOf(deployment), json::findObject(&spec, "labels")}) {
    const std::string_view name = json::findText(labels, api::label::kGraph);
    if (!name.empty()) return std::string{name};
  }
  return std::string{nameOf(deployment)};
}

Component componentOf(const Value& deployment, const std::string& path, const Context& context,
                      Errors& errors, Allocator& allocator) {
  Component component;
  component.path = path;
  const Value* given = specOf(deployment);
  component.spec = given == nullptr ? Value{rapidjson::kObjectType} : aliasOf(*given, allocator);
  Value& spec = component.spec;
  Value labels{rapidjson::kObjectType};
  layOver(labels, json::findObject(&spec, "labels"), allocator);
  layOver(labels, labelsOf(deployment), allocator);
  json::set(spec, "labels", std::move(labels), allocator);
  component.graph = graphName(deployment, spec);
  component.namespaceName = namespaceOf(deployment);
  component.service = json::findText(&spec, "serviceName");
  if (component.service.empty()) component.service = nameOf(deployment);
  const bool global = json::findBool(&spec, "globalDynamoNamespace").value_or(false);
  component.dynamoNamespace = dynamoNamespace(global, component.namespaceName, component.graph);
  component.discovery =
      discoveryBackend(json::findObject(&spec, "annotations"), nullptr, context.config.discoveryBackend);
  component.framework = detectFramework(spec, json::findText(&spec, "backendFramework"));
  tellFramework(component, errors);
  component.hosts = {false, std::string{nameOf(deployment)}, nodeCount(spec)};
  if (api::isWorkerType(component.type())) {
    component.workerHash = json::findText(json::findObject(&spec, "labels"), api::label::kWorkerHash);
  }
  component.checkpoint = resolveCheckpoint(component, context.facts);
  return component;
}

}  // namespace

Value componentDeployment(const Value& graph, const Component& component, std::string_view hash,
                          const Context& context, const Observed& observed, Allocator& allocator) {
  const json::Maker make{allocator};
  const bool worker = api::isWorkerType(component.type());
  Value labels = make.object();
  layOver(labels, json::findObject(&component.spec, "labels"), allocator);
  make.set(labels, api::label::kComponent, component.service);
  make.set(labels, api::label::kNamespace, component.dynamoNamespace);
  make.set(labels, api::label::kGraph, component.graph);
  if (worker) make.set(labels, api::label::kWorkerHash, hash);

  Value spec = make.value(component.spec);
  const std::optional<long long> workers = applyDeploymentConfig(component.service, spec, allocator);
  make.set(spec, "labels", labels);
  make.set(spec, "serviceName", component.service);
  make.set(spec, "dynamoNamespace", component.dynamoNamespace);
  const std::string_view framework = json::findText(specOf(graph), "backendFramework");
  if (!framework.empty()) make.set(spec, "backendFramework", framework);
  if (component.type() == api::kPlanner) {
    Value& pod = json::ensureObject(spec, "extraPodSpec", allocator);
    if (json::findText(&pod, "serviceAccountName").empty()) {
      make.set(pod, "serviceAccountName", api::kPlannerServiceAccount);
    }
  }
  if (component.type() == api::kFrontend && json::findObject(&spec, "ingress") == nullptr) {
    make.set(spec, "ingress", defaultIngress(component.graph, context.config.ingress, allocator));
  }
  if (workers && json::find(spec, "replicas") == nullptr) make.set(spec, "replicas", *workers);
  const auto rolling = observed.newReplicas.find(component.service);
  if (worker && rolling != observed.newReplicas.end()) make.set(spec, "replicas", rolling->second);

  Value deployment =
      makeObject(api::kV1alpha1, api::kDynamoComponentDeployment,
                 componentDeploymentName(component.graph, component.service, component.type(), hash),
                 component.namespaceName, allocator);
  setMetadata(deployment, "labels", std::move(labels), allocator);
  setOwner(deployment, graph, allocator);
  make.set(deployment, "spec", std::move(spec));
  return deployment;
}

Children renderComponentDeployment(const Value& deployment, const std::string& path, const Context& context,
                                   Allocator& allocator) {
  Children children;
  const Component component = componentOf(deployment, path, context, children.errors, allocator);
  if (!children.errors.empty()) return children;
  const bool standalone = defaults::graphOwner(deployment) == nullptr;
  if (standalone && component.discovery == "kubernetes") {
    renderDiscoveryAccess(deployment, component.graph, component.namespaceName, children, allocator);
  }
  if (component.multinode() && lwsEnabled(context)) {
    renderLeaderWorkerSets(deployment, component, context, children, allocator);
  } else {
    renderDeployment(deployment, component, context, children, allocator);
  }
  if (!children.errors.empty()) return children;
  const std::string name{nameOf(deployment)};
  renderComponentService(deployment, component, dashed(name), componentLabels(component, allocator),
                         componentAnnotations(component, allocator), true, children, allocator);
  const std::string_view model = json::findText(json::findObject(&component.spec, "modelRef"), "name");
  if (standalone && !model.empty()) renderModelService(deployment, model, false, children, allocator);
  renderRoutes(deployment, component, name, context, children, allocator);
  return children;
}

Children renderComponentDeployment(const Value& deployment, const Context& context, Allocator& allocator) {
  return renderComponentDeployment(deployment, "spec", context, allocator);
}

}  // namespace dynamo::render
