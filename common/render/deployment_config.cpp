#include "common/render/deployment_config.h"

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/render/hash.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// Member names match in any case, as in the reference.
const Value* findAnyCase(const Value* object, std::string_view name) {
  if (object == nullptr || !object->IsObject()) return nullptr;
  for (const auto& member : object->GetObject()) {
    if (k8s::lowerAscii(json::text(member.name)) == name && !member.value.IsNull()) return &member.value;
  }
  return nullptr;
}

void applyToBoth(const Value& wanted, Value& spec, Allocator& allocator) {
  Value& resources = json::ensureObject(spec, "resources", allocator);
  for (const std::string_view kind : {"requests", "limits"}) {
    Value& item = json::ensureObject(resources, kind, allocator);
    for (const std::string_view name : {"cpu", "memory", "gpu", "custom"}) {
      const Value* value = findAnyCase(&wanted, name);
      const bool good = value != nullptr && (name == "custom" ? value->IsObject() : value->IsString());
      if (good) json::set(item, name, json::copy(*value, allocator), allocator);
    }
  }
}

}  // namespace

std::optional<long long> applyDeploymentConfig(std::string_view service, Value& spec, Allocator& allocator) {
  Value* variable = json::findNamed(json::find(spec, "envs"), api::kDeploymentConfigEnv);
  const std::string_view text = json::findText(variable, "value");
  json::Document config;
  if (text.empty() || json::parse(text, config) || !config.IsObject()) return std::nullopt;
  const std::string key{service};
  if (json::findText(&spec, "componentType") == api::kFrontend) {
    if (Value* own = json::find(config, key); own != nullptr && own->IsObject()) {
      json::set(*own, "port", Value{api::kFrontendPort}, config.GetAllocator());
    }
    json::set(*variable, "value", json::string(goJson(config), allocator), allocator);
  }
  const Value* arguments = findAnyCase(json::findObject(&config, key), "serviceargs");
  if (const Value* wanted = findAnyCase(arguments, "resources")) applyToBoth(*wanted, spec, allocator);
  const Value* workers = findAnyCase(arguments, "workers");
  return workers != nullptr && workers->IsInt() ? std::optional<long long>{workers->GetInt()} : std::nullopt;
}

}  // namespace dynamo::render
