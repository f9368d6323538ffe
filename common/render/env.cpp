#include "common/render/env.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"

namespace dynamo::render {

using json::Allocator;
using json::Value;

std::vector<const Value*> mergedEnv(std::initializer_list<const Value*> layers) {
  using Named = std::pair<std::string_view, const Value*>;
  std::vector<Named> all;
  for (const Value* layer : layers) {
    if (layer == nullptr || !layer->IsArray()) continue;
    for (const Value& variable : layer->GetArray()) {
      if (variable.IsObject()) all.emplace_back(json::findText(&variable, "name"), &variable);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Named& a, const Named& b) { return a.first < b.first; });
  std::vector<const Value*> merged;
  merged.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size() || all[i + 1].first != all[i].first;
    if (last) merged.push_back(all[i].second);
  }
  return merged;
}

Value mergeEnv(std::initializer_list<const Value*> layers, Allocator& allocator) {
  const std::vector<const Value*> variables = mergedEnv(layers);
  Value merged{rapidjson::kArrayType};
  merged.Reserve(static_cast<rapidjson::SizeType>(variables.size()), allocator);
  for (const Value* variable : variables) merged.PushBack(json::copy(*variable, allocator), allocator);
  return merged;
}

defaults::Placeholders placeholdersOf(const Component& component, std::string_view componentType) {
  return {component.dynamoNamespace, component.graph, component.namespaceName, componentType};
}

Value defaultEnv(const Value* map, const Component& component, std::string_view componentType,
                 Allocator& allocator) {
  const json::Maker make{allocator};
  Value list{rapidjson::kArrayType};
  if (map == nullptr || !map->IsObject()) return list;
  const defaults::Placeholders placeholders = placeholdersOf(component, componentType);
  for (const auto& entry : map->GetObject()) {
    Value variable = make.object("name", json::text(entry.name));
    if (entry.value.IsString()) {
      make.set(variable, "value", defaults::fill(json::text(entry.value), placeholders));
    } else if (entry.value.IsObject()) {
      Value source = json::copy(entry.value, allocator);
      defaults::fillAll(source, placeholders, allocator);
      make.set(variable, "valueFrom", std::move(source));
    }
    list.PushBack(variable, allocator);
  }
  return list;
}

Value standardEnv(const Component& component, const Context& context, Allocator& allocator) {
  const json::Maker make{allocator};
  Value list{rapidjson::kArrayType};
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) make.push(list, make.object("name", name, "value", value));
  };
  const config::InfrastructureConfig& infrastructure = context.config.infrastructure;
  add("NATS_SERVER", infrastructure.natsAddress);
  add("ETCD_ENDPOINTS", infrastructure.etcdAddress);
  add("MODEL_EXPRESS_URL", infrastructure.modelExpressUrl);
  add("PROMETHEUS_ENDPOINT", infrastructure.prometheusEndpoint);
  if (component.discovery != "etcd") add("DYN_DISCOVERY_BACKEND", "kubernetes");
  return list;
}

bool hasEnv(const Value& container, std::string_view name) {
  return json::findNamed(json::find(container, "env"), name) != nullptr;
}

void appendEnv(Value& container, Value&& variable, Allocator& allocator) {
  if (hasEnv(container, json::findText(&variable, "name"))) return;
  json::ensureList(container, "env", allocator).PushBack(variable, allocator);
}

}  // namespace dynamo::render
