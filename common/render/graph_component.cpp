#include "common/render/graph_component.h"

#include <utility>

#include "common/api/dynamo.h"
#include "common/model/env.h"
#include "common/model/names.h"
#include "common/render/checkpoint.h"
#include "common/render/object.h"
#include "common/render/origin.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// The annotations of the component, those of the graph that it lacks, and restartAt unless `restart` is
/// empty.
const Value* annotationsFor(const Value& graph, const model::Component& component, std::string_view restart,
                            Origins* origins, Allocator& allocator) {
  const auto at = [](std::string_view key) { return field::Path{"annotations"}.key(key); };
  const Value* own = json::findObject(&component.spec, "annotations");
  Value merged{rapidjson::kObjectType};
  layOver(merged, own, allocator);
  for (const std::string_view key : api::kPropagatedAnnotations) {
    const Value* value = json::find(annotationsOf(graph), key);
    const Value* present = json::find(own, key);
    // An empty discovery backend counts as absent (pod-Q26).
    const bool decided =
        key != api::annotation::kDiscoveryBackend || (present != nullptr && !json::isEmpty(*present));
    if (value == nullptr || (present != nullptr && decided)) continue;
    json::set(merged, key, json::copy(*value, allocator), allocator);
    if (origins != nullptr) origins->user(at(key), field::Path{"metadata.annotations"}.key(key));
  }
  if (!restart.empty()) {
    json::set(merged, api::annotation::kRestartAt, json::string(restart, allocator), allocator);
    if (origins != nullptr) origins->byOperator(at(api::annotation::kRestartAt), component.path);
  }
  if (own == nullptr && merged.ObjectEmpty()) return nullptr;
  return keep(std::move(merged), allocator);
}

const Value* envsFor(const Value& graph, const model::Component& component, Origins* origins,
                     Allocator& allocator) {
  const Value* own = json::find(component.spec, "envs");
  const Value* graphEnvs = json::find(specOf(graph), "envs");
  if (graphEnvs == nullptr || !graphEnvs->IsArray() || graphEnvs->Empty()) return own;
  const std::vector<const Value*> variables = model::mergedEnv({graphEnvs, own});
  if (origins != nullptr) {
    using Source = Origin::Source;
    model::recordEnv(variables,
                     {{graphEnvs, {Source::User, field::Path{"spec.envs"}}},
                      {own, {Source::User, component.path / "envs"}}},
                     field::Path{"envs"}, *origins);
  }
  return keep(model::copyEnv(variables, allocator), allocator);
}

}  // namespace

void resolveForPods(Component& component, const FactsView& facts) {
  component.workerHash = api::isWorkerType(component.type)
                             ? json::findText(component.labels, api::label::kWorkerHash)
                             : std::string_view{};
  component.checkpoint = resolveCheckpoint(component.spec, component.namespaceName, facts);
}

void reportFrameworkConflict(const Component& component, Errors& errors) {
  if (component.framework.error.empty()) return;
  const Value* command = json::find(component.mainContainer(), "command");
  const bool inCommand = command != nullptr && json::dump(*command).find("dynamo.") != std::string::npos;
  errors.push_back(
      {field::ErrorType::Invalid,
       component.path / "extraPodSpec.mainContainer" / std::string_view{inCommand ? "command" : "args"}, "",
       component.framework.error, "render.framework"});
}

std::vector<Component> graphComponents(const Value& graph, const Context& context,
                                       const LifecycleInputs& inputs, Errors& errors, Allocator& allocator) {
  std::vector<Component> components;
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return components;
  for (const auto& service : services->GetObject()) {
    if (service.value.IsObject()) continue;
    errors.push_back({field::ErrorType::Required, field::Path{"spec.services"}.key(json::text(service.name)),
                      "", "a service must not be null", "render.service"});
  }
  const model::ResolvedGraph resolved = model::resolveGraph(graph);
  for (model::Component& each : model::resolveComponents(resolved, context.config.discoveryBackend)) {
    Component component{std::move(each)};
    std::shared_ptr<Origins> origins;
    if (context.recordOrigins) origins = std::make_shared<Origins>(componentOrigins(component, graph));
    const auto restart = inputs.restartAnnotations.find(component.key);
    component.annotations = annotationsFor(
        graph, component, restart == inputs.restartAnnotations.end() ? std::string_view{} : restart->second,
        origins.get(), allocator);
    component.labels = json::findObject(&component.spec, "labels");
    component.envs = envsFor(graph, component, origins.get(), allocator);
    component.origins = std::move(origins);
    component.hosts = {usesGrove(graph, context), component.key, component.nodes};
    resolveForPods(component, context.facts);
    reportFrameworkConflict(component, errors);
    components.push_back(std::move(component));
  }
  return components;
}

}  // namespace dynamo::render
