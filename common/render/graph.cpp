// Renders the children of a DynamoGraphDeployment.
#include <algorithm>
#include <set>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/model/names.h"
#include "common/model/pathway.h"
#include "common/render/autoscaler.h"
#include "common/render/checkpoint_job.h"
#include "common/render/deployment_config.h"
#include "common/render/epp.h"
#include "common/render/graph_component.h"
#include "common/render/hash.h"
#include "common/render/network.h"
#include "common/render/object.h"
#include "common/render/picker_namespace.h"
#include "common/render/rbac.h"
#include "common/render/size.h"
#include "common/render/workloads.h"

namespace dynamo::render {
namespace {

using json::Value;

/// Enough for graphs of a few services on either pathway.
constexpr std::size_t kExpectedChildren = 32;

class GraphRenderer {
 public:
  GraphRenderer(const Value& graph, const Context& context, const LifecycleInputs& inputs)
      : graph_(graph),
        context_(context),
        inputs_(inputs),
        make_(children_.memory()),
        components_(graphComponents(graph, context, inputs, children_.errors, children_.memory())) {}

  Children render() {
    children_.items.reserve(kExpectedChildren);
    accounts();
    claims();
    for (const Component& component : components_) {
      renderAutoCheckpoint(component, context_, children_);
      renderScaling(graph_, component, context_, children_);
    }
    const bool discovered = std::any_of(components_.begin(), components_.end(),
                                        [](const Component& c) { return c.discovery == "kubernetes"; });
    if (discovered) {
      renderDiscoveryAccess(graph_, nameOf(graph_), namespaceOf(graph_), children_);
    }
    renderEndpointPicker(graph_, components_, children_);
    const bool onGrove = usesGrove(graph_, context_);
    // Admission only warns about it and validates the pods nevertheless (dec-8).
    if (!onGrove && !context_.trial() && reportMissingOrchestrator()) return std::move(children_);
    for (const Component& component : components_) {
      const std::string_view model = json::findText(json::findObject(&component.spec, "modelRef"), "name");
      if (!model.empty()) renderModelService(graph_, model, true, children_);
    }
    if (onGrove) {
      grove();
    } else {
      componentDeployments();
    }
    return std::move(children_);
  }

 private:
  /// Adds an error for each multinode service if nothing can start its nodes together. The graph then gets no
  /// workloads. Returns whether there are errors.
  bool reportMissingOrchestrator() {
    bool lacks = false;
    for (const Component& component : components_) {
      if (!component.multinode() || lwsEnabled(context_)) continue;
      lacks = true;
      children_.errors.push_back({field::ErrorType::Invalid, component.at("multinode").path(), "",
                                  "needs Grove or LeaderWorkerSet, but neither is installed and enabled",
                                  "dgd.multinode-orchestrator"});
    }
    return lacks;
  }

  void accounts() {
    const auto any = [&](auto condition) {
      return std::any_of(components_.begin(), components_.end(), condition);
    };
    const config::RbacConfig& rbac = context_.config.rbac;
    if (any([](const Component& c) {
          return c.type == api::kPlanner ||
                 json::findText(c.podSpec(), "serviceAccountName") == api::kPlannerServiceAccount;
        })) {
      renderClusterRoleAccount(api::kPlannerServiceAccount, rbac.plannerClusterRoleName, namespaceOf(graph_),
                               context_, children_);
    }
    if (any([](const Component& c) { return c.type == api::kEpp; })) {
      renderClusterRoleAccount(api::kEppServiceAccount, rbac.eppClusterRoleName, namespaceOf(graph_),
                               context_, children_);
    }
  }

  void claims() {
    const Value* claims = json::find(specOf(graph_), "pvcs");
    if (claims == nullptr || !claims->IsArray()) return;
    for (const Value& claim : claims->GetArray()) {
      const std::string_view name = json::findText(&claim, "name");
      if (name.empty() || !json::findBool(&claim, "create").value_or(false)) continue;
      Value object = makeObject("v1", "PersistentVolumeClaim", name, namespaceOf(graph_), make_.allocator());
      setOwner(object, graph_, make_.allocator());
      const Value* size = json::find(claim, "size");
      // In the canonical form of the API server; otherwise the controller would apply the claim again and
      // again.
      const std::string amount =
          k8s::canonicalQuantity(size == nullptr ? "0" : k8s::quantityText(*size).value_or("0"));
      Value spec = make_.object("accessModes", make_.list(json::findText(&claim, "volumeAccessMode")),
                                "resources", make_.object("requests", make_.object("storage", amount)));
      const std::string_view storageClass = json::findText(&claim, "storageClass");
      if (!storageClass.empty()) make_.set(spec, "storageClassName", storageClass);
      make_.set(object, "spec", std::move(spec));
      children_.add(std::move(object));
    }
  }

  void grove() {
    for (Component& component : components_) {
      // Pods of a Grove graph have the annotation of their discovery backend, even if it comes from the
      // configuration.
      if (!json::findText(component.annotations, api::annotation::kDiscoveryBackend).empty()) continue;
      Value annotations = make_.object();
      layOver(annotations, component.annotations, make_.allocator());
      make_.set(annotations, api::annotation::kDiscoveryBackend, context_.config.discoveryBackend);
      component.annotations = keep(std::move(annotations), make_.allocator());
      if (component.origins == nullptr) continue;
      Origins origins = *component.origins;
      origins.byOperator(field::Path{"annotations"}.key(api::annotation::kDiscoveryBackend), component.path);
      component.origins = std::make_shared<Origins>(std::move(origins));
    }
    renderPodCliqueSet(graph_, components_, inputs_.podCliqueSet, context_, children_);
    for (const Component& component : components_) {
      const std::string name = model::componentName(component.graph, component.key);
      Value labels = make_.object();
      layOver(labels, component.labels, make_.allocator());
      renderComponentService(graph_, component, model::dashed(name), std::move(labels), make_.object(), false,
                             children_);
      renderRoutes(graph_, component, name, context_, children_);
    }
  }

  void componentDeployments() {
    // The hash excludes values that the webhook wrote, so that new defaults do not restart workers.
    std::string hash = inputs_.workerHash;
    if (hash.empty()) hash = context_.placeholderWorkerHash;
    if (hash.empty()) hash = workerHash(defaults::intent(graph_, make_.allocator()));
    const std::vector<std::string_view> pickers = pickersOfWorkers();
    for (const Component& component : components_) {
      reportDeploymentConfig(component);
      std::vector<Origins> origins(component.origins == nullptr ? 0 : 1);
      children_.add(componentDeployment(graph_, component, hash, context_, inputs_,
                                        origins.empty() ? nullptr : &origins[0], make_.allocator()),
                    component.key);
      if (std::find(pickers.begin(), pickers.end(), component.key) != pickers.end()) {
        if (const std::string named = inputs_.pickerHash.value_or(hash); !named.empty()) {
          setPickerNamespace(component, named, *json::find(children_.items.back().object, "spec"),
                             origins.empty() ? nullptr : &origins[0], make_.allocator());
        }
      }
      children_.items.back().origins = std::move(origins);
    }
  }

  /// The endpoint pickers that name a worker generation.
  std::vector<std::string_view> pickersOfWorkers() {
    std::vector<std::string_view> pickers;
    const auto is = [](std::string_view type) {
      return [type](const Component& c) { return c.type == type; };
    };
    const bool workers = std::any_of(components_.begin(), components_.end(),
                                     [](const Component& c) { return api::isWorkerType(c.type); });
    if (!workers || std::none_of(components_.begin(), components_.end(), is(api::kEpp))) return pickers;
    const Value intent = defaults::intent(graph_, make_.allocator());
    for (const Component& component : components_) {
      if (followsWorkers(intent, component.key)) pickers.push_back(component.key);
    }
    return pickers;
  }

  /// Told where the user wrote it: the component has a copy.
  void reportDeploymentConfig(const Component& component) {
    const Value* services = json::findObject(specOf(graph_), "services");
    const auto source = deploymentConfigSource(json::find(json::findObject(services, component.key), "envs"),
                                               component.at("envs"), json::find(specOf(graph_), "envs"));
    json::Document config;
    if (!source || !readDeploymentConfig(source->text, config)) return;
    std::string problem = deploymentConfigProblem(config, component.key);
    if (problem.empty()) return;
    children_.errors.push_back(
        {field::ErrorType::Invalid, source->path, "", std::move(problem), "render.deployment-config"});
  }

  const Value& graph_;
  const Context& context_;
  const LifecycleInputs& inputs_;
  Children children_;
  json::Maker make_;
  std::vector<Component> components_;
};

/// A defect is seen once, however many roles and levels meet it.
void removeDuplicates(Errors& errors) {
  if (errors.empty()) return;
  std::set<std::pair<field::Path, std::string>> seen;
  std::erase_if(
      errors, [&](const field::FieldError& error) { return !seen.emplace(error.field, error.rule).second; });
}

}  // namespace

// These functions look up a fact only if it matters, so that its change triggers only the graphs that depend
// on it.

bool lwsEnabled(const Context& context) {
  const config::OrchestratorsConfig& orchestrators = context.config.orchestrators;
  const bool asked = orchestrators.lwsEnabled.value_or(true);
  return model::lwsEnabled(orchestrators, asked ? context.facts.api(Api::LeaderWorkerSet) : std::nullopt);
}

bool usesGrove(const Value& graph, const Context& context) {
  if (model::refusesGrove(annotationsOf(graph))) return false;
  if (context.grove) return *context.grove;
  const config::OrchestratorsConfig& orchestrators = context.config.orchestrators;
  const bool asked = !orchestrators.grove.enabled;
  return model::groveEnabled(orchestrators, asked ? context.facts.api(Api::Grove) : std::nullopt)
      .value_or(true);
}

Children renderGraph(const Value& graph, const Context& context, const LifecycleInputs& inputs) {
  Children children;
  children.errors = tooLarge(graph);
  if (!children.errors.empty() || !canOwn(graph, context, kUidField, children.errors)) return children;
  children = GraphRenderer{graph, context, inputs}.render();
  removeDuplicates(children.errors);
  return children;
}

Children renderAll(const Value& graph, const Context& context, const LifecycleInputs& inputs) {
  Children all = renderGraph(graph, context, inputs);
  const std::size_t own = all.items.size();
  for (std::size_t i = 0; i < own; ++i) {
    if (all.items[i].key.kind != api::kDynamoComponentDeployment) continue;
    Value deployment = std::move(all.items[i].object);  // moved out, because the list grows
    const std::string service = all.items[i].service;
    const std::size_t before = all.items.size();
    const field::Path path = field::Path{"spec.services"}.key(service);
    const std::vector<Origins> origins = std::move(all.items[i].origins);
    if (canOwn(deployment, context, path, all.errors)) {
      renderComponent(deployment, path, context, origins.empty() ? nullptr : &origins[0], {}, all);
    }
    for (std::size_t item = before; item < all.items.size(); ++item) all.items[item].service = service;
    all.items[i].object = std::move(deployment);
    all.items[i].origins = origins;
  }
  removeDuplicates(all.errors);
  return all;
}

}  // namespace dynamo::render
