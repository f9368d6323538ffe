#include "common/render/epp.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/duration.h"
#include "common/model/names.h"
#include "common/render/object.h"
#include "common/text/yaml_writer.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// Copies members of `from` to `made`.
struct Members {
  const Value& from;
  const json::Maker& make;
  Value made{rapidjson::kObjectType};

  void always(std::string_view name, Value&& fallback) {
    const Value* value = json::find(from, name);
    make.set(made, name, value != nullptr ? make.value(*value) : std::move(fallback));
  }
  void given(std::string_view name) {
    const Value* value = json::find(from, name);
    if (value != nullptr && !json::isEmpty(*value)) make.set(made, name, *value);
  }
};

Value plugins(const Value& list, const json::Maker& make) {
  Value made = make.list();
  for (const Value& plugin : list.GetArray()) {
    Members members{plugin, make};
    members.always("name", make.value(""));
    members.always("type", make.value(""));
    members.always("parameters", Value{});
    make.push(made, std::move(members.made));
  }
  return made;
}

Value profiles(const Value& list, const json::Maker& make) {
  Value made = make.list();
  for (const Value& profile : list.GetArray()) {
    Value references{};
    if (const Value* given = json::find(profile, "plugins"); given != nullptr && given->IsArray()) {
      references = make.list();
      for (const Value& reference : given->GetArray()) {
        Members members{reference, make};
        members.always("pluginRef", make.value(""));
        members.always("weight", Value{});
        make.push(references, std::move(members.made));
      }
    }
    make.push(made, make.object("name", json::findText(&profile, "name"), "plugins", std::move(references)));
  }
  return made;
}

Value saturationDetector(const Value& detector, const json::Maker& make) {
  Value made = make.object();
  for (const std::string_view name : {"queueDepthThreshold", "kvCacheUtilThreshold"}) {
    const Value* given = json::find(detector, name);
    if (given != nullptr && given->IsNumber() && given->GetDouble() != 0) make.set(made, name, *given);
  }
  const std::string_view text = json::findText(&detector, "metricsStalenessThreshold");
  const std::optional<k8s::Duration> duration = k8s::parseDuration(text);
  make.set(made, "metricsStalenessThreshold",
           text.empty() ? "0s"
           : duration   ? k8s::formatDuration(*duration)
                        : std::string{text});
  return made;
}

/// Sorts members by name, as Kubernetes tools do in YAML.
void sortMembers(Value& value) {
  if (value.IsArray()) {
    for (Value& item : value.GetArray()) sortMembers(item);
  }
  if (!value.IsObject()) return;
  std::sort(value.MemberBegin(), value.MemberEnd(),
            [](const auto& a, const auto& b) { return json::text(a.name) < json::text(b.name); });
  for (auto& member : value.GetObject()) sortMembers(member.value);
}

}  // namespace

Value endpointPickerConfig(const Value& config, Allocator& allocator) {
  const json::Maker make{allocator};
  Members members{config, make};
  make.set(members.made, "apiVersion", "inference.networking.x-k8s.io/v1alpha1");
  make.set(members.made, "kind", "EndpointPickerConfig");
  const Value* pluginList = json::find(config, "plugins");
  make.set(members.made, "plugins",
           pluginList != nullptr && pluginList->IsArray() ? plugins(*pluginList, make) : Value{});
  const Value* profileList = json::find(config, "schedulingProfiles");
  make.set(members.made, "schedulingProfiles",
           profileList != nullptr && profileList->IsArray() ? profiles(*profileList, make) : Value{});
  members.given("featureGates");
  if (const Value* detector = json::findObject(&config, "saturationDetector")) {
    make.set(members.made, "saturationDetector", saturationDetector(*detector, make));
  }
  sortMembers(members.made);
  return std::move(members.made);
}

void renderEndpointPicker(const Value& graph, const std::vector<Component>& components, Children& children) {
  Allocator& allocator = children.memory();
  const auto found = std::find_if(components.begin(), components.end(),
                                  [](const Component& c) { return c.type == api::kEpp; });
  if (found == components.end()) return;
  const Component& component = *found;
  const json::Maker make{allocator};
  const auto labels = [&] {
    return make.object(api::label::kGraph, component.graph, api::label::kComponent, component.key,
                       api::label::kComponentType, api::kEpp);
  };
  const Value* eppConfig = json::findObject(&component.spec, "eppConfig");
  if (json::findObject(eppConfig, "configMapRef") == nullptr) {
    const Value* config = json::findObject(eppConfig, "config");
    if (config == nullptr) {
      children.errors.push_back({field::ErrorType::Required, component.at("eppConfig").path(), "",
                                 "must have config or configMapRef", "render.epp-config"});
    } else {
      Value map = makeObject("v1", "ConfigMap", std::string{component.graph} + "-epp-config",
                             component.namespaceName, allocator);
      setMetadata(map, "labels", labels(), allocator);
      setOwner(map, graph, allocator);
      make.set(map, "data",
               make.object(api::kEppConfigKey, text::toYaml(endpointPickerConfig(*config, allocator))));
      children.add(std::move(map), component.key);
    }
  }
  Value pool = makeObject("inference.networking.k8s.io/v1", "InferencePool",
                          std::string{component.graph} + "-pool", component.namespaceName, allocator);
  setMetadata(pool, "labels", labels(), allocator);
  setOwner(pool, graph, allocator);
  const std::string picker = model::dashed(model::componentName(component.graph, component.key));
  make.set(
      pool, "spec",
      make.object(
          "targetPorts", make.list(make.object("number", api::kFrontendPort)), "selector",
          make.object("matchLabels", make.object(api::label::kComponentType, api::kWorker,
                                                 api::label::kNamespace, component.dynamoNamespace)),
          "endpointPickerRef",
          make.object("kind", "Service", "name", picker, "port", make.object("number", api::kEppGrpcPort))));
  children.add(std::move(pool), component.key);
}

}  // namespace dynamo::render
