#include "common/render/autoscaler.h"

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/model/names.h"
#include "common/model/scaling.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

// The guide of the deprecated field promises this target.
constexpr int kCpuUtilization = 80;

/// An object of the graph that is named after the service.
Value makeNamed(std::string_view apiVersion, std::string_view kind, const Value& graph,
                const Component& component, const json::Maker& make) {
  Value object = makeObject(apiVersion, kind, model::componentName(component.graph, component.key),
                            component.namespaceName, make.allocator());
  setMetadata(object, "labels",
              make.object(api::label::kGraph, component.graph, api::label::kComponent, component.key),
              make.allocator());
  setOwner(object, graph, make.allocator());
  return object;
}

Value adapterSpec(const Component& component, const json::Maker& make) {
  const Value* replicas = json::find(component.spec, "replicas");
  return make.object("replicas", replicas == nullptr ? Value{1} : make.value(*replicas), "dgdRef",
                     make.object("name", component.graph, "serviceName", component.key));
}

Value cpuMetrics(const json::Maker& make) {
  Value target = make.object("type", "Utilization", "averageUtilization", kCpuUtilization);
  return make.list(
      make.object("type", "Resource", "resource", make.object("name", "cpu", "target", std::move(target))));
}

Value autoscalerSpec(const Value& autoscaling, const Component& component, const json::Maker& make) {
  Value spec =
      make.object("scaleTargetRef",
                  make.object("apiVersion", api::kV1alpha1, "kind", api::kDynamoGraphDeploymentScalingAdapter,
                              "name", model::componentName(component.graph, component.key)));
  for (const std::string_view field : {"minReplicas", "maxReplicas"}) {
    if (const Value* given = json::find(autoscaling, field)) make.set(spec, field, *given);
  }
  const Value* metrics = json::find(autoscaling, "metrics");
  const bool given = metrics != nullptr && !json::isEmpty(*metrics);
  make.set(spec, "metrics", given ? make.value(*metrics) : cpuMetrics(make));
  const Value* behavior = json::find(autoscaling, "behavior");
  if (behavior != nullptr && !json::isEmpty(*behavior)) make.set(spec, "behavior", *behavior);
  return spec;
}

}  // namespace

void renderScaling(const Value& graph, const Component& component, const Context& context,
                   Children& children) {
  const bool honoursAutoscaling = context.config.compatibilityAutoscaling;
  if (!model::hasScalingAdapter(component.spec, honoursAutoscaling)) return;
  const json::Maker make{children.memory()};
  Value adapter =
      makeNamed(api::kV1alpha1, api::kDynamoGraphDeploymentScalingAdapter, graph, component, make);
  make.set(adapter, "spec", adapterSpec(component, make));
  children.add(std::move(adapter), component.key);

  const Value* autoscaling = model::enabledAutoscaling(component.spec, honoursAutoscaling);
  if (autoscaling == nullptr) return;
  // The object may be older than the switch. The API server reports other invalid values.
  if (json::find(*autoscaling, "maxReplicas") == nullptr) {
    children.errors.push_back({field::ErrorType::Required, component.at("autoscaling.maxReplicas").path(), "",
                               "must be set when autoscaling is enabled", "render.autoscaling"});
    return;
  }
  Value autoscaler = makeNamed("autoscaling/v2", "HorizontalPodAutoscaler", graph, component, make);
  make.set(autoscaler, "spec", autoscalerSpec(*autoscaling, component, make));
  children.add(std::move(autoscaler), component.key);
}

}  // namespace dynamo::render
