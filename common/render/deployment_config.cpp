#include "common/render/deployment_config.h"

#include <fmt/format.h>

#include <array>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/render/hash.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

constexpr std::array<std::string_view, 3> kAmounts = {"cpu", "memory", "gpu"};

/// Member names match in any case, as in the reference, and the last counts.
const Value* findAnyCase(const Value* object, std::string_view name) {
  const Value* found = nullptr;
  if (object == nullptr || !object->IsObject()) return nullptr;
  for (const auto& member : object->GetObject()) {
    if (k8s::lowerAscii(json::text(member.name)) == name) found = &member.value;
  }
  return found == nullptr || found->IsNull() ? nullptr : found;
}

std::string typeProblemOfResources(const Value& resources, const std::string& path) {
  if (!resources.IsObject()) return path + " must be an object";
  for (const std::string_view name : kAmounts) {
    const Value* amount = findAnyCase(&resources, name);
    if (amount != nullptr && !amount->IsString()) return fmt::format("{}.{} must be a string", path, name);
  }
  const Value* custom = findAnyCase(&resources, "custom");
  if (custom == nullptr) return {};
  if (!custom->IsObject()) return path + ".custom must be an object";
  for (const auto& member : custom->GetObject()) {
    if (member.value.IsString() || member.value.IsNull()) continue;
    return fmt::format("{}.custom.{} must be a string", path, json::text(member.name));
  }
  return {};
}

/// What Go's decoder would refuse in the entry of one component.
std::string typeProblem(const Value& entry, const std::string& path) {
  if (entry.IsNull()) return {};
  if (!entry.IsObject()) return path + " must be an object";
  const Value* arguments = findAnyCase(&entry, "serviceargs");
  if (arguments == nullptr) return {};
  const std::string below = path + ".ServiceArgs";
  if (!arguments->IsObject()) return below + " must be an object";
  const Value* workers = findAnyCase(arguments, "workers");
  if (workers != nullptr && !workers->IsInt()) return below + ".workers must be a whole number of 32 bits";
  const Value* resources = findAnyCase(arguments, "resources");
  return resources == nullptr ? "" : typeProblemOfResources(*resources, below + ".resources");
}

std::string amountProblem(const Value& resources, const std::string& path) {
  constexpr std::string_view kWords = "must be a quantity, such as 500m, 2 or 16Gi";
  for (const std::string_view name : kAmounts) {
    const std::string_view text = json::text(findAnyCase(&resources, name));
    if (text.empty() || k8s::parseQuantity(text)) continue;
    return fmt::format("{}.{} {}", path, name, kWords);
  }
  const Value* custom = findAnyCase(&resources, "custom");
  if (custom == nullptr) return {};
  for (const auto& member : custom->GetObject()) {
    if (k8s::parseQuantity(json::text(member.value))) continue;
    return fmt::format("{}.custom.{} {}", path, json::text(member.name), kWords);
  }
  return {};
}

void applyToBoth(const Value& wanted, Value& spec, Allocator& allocator) {
  Value& resources = json::ensureObject(spec, "resources", allocator);
  for (const std::string_view kind : {"requests", "limits"}) {
    Value& item = json::ensureObject(resources, kind, allocator);
    for (const std::string_view name : {"cpu", "memory", "gpu", "custom"}) {
      const Value* value = findAnyCase(&wanted, name);
      if (value != nullptr) json::set(item, name, json::copy(*value, allocator), allocator);
    }
  }
}

/// Go reads every number of a free form as float64.
void makeDoubles(Value& value) {
  if (value.IsNumber()) {
    value.SetDouble(value.GetDouble());
  } else if (value.IsArray()) {
    for (Value& item : value.GetArray()) makeDoubles(item);
  } else if (value.IsObject()) {
    for (auto& member : value.GetObject()) makeDoubles(member.value);
  }
}

}  // namespace

std::optional<DeploymentConfigSource> deploymentConfigSource(const Value* own, const field::At& ownAt,
                                                             const Value* graphEnvs) {
  const field::At graphAt = "spec.envs";
  for (const auto& [list, at] : {std::pair{own, &ownAt}, std::pair{graphEnvs, &graphAt}}) {
    if (list == nullptr || !list->IsArray()) continue;
    for (rapidjson::SizeType i = list->Size(); i > 0; --i) {
      const Value& variable = (*list)[i - 1];
      if (json::findText(&variable, "name") != api::kDeploymentConfigEnv) continue;
      const std::string_view text = json::findText(&variable, "value");
      if (text.empty()) return std::nullopt;
      return DeploymentConfigSource{text, at->path()[i - 1] / "value"};
    }
  }
  return std::nullopt;
}

bool readDeploymentConfig(std::string_view text, json::Document& config) {
  return json::parseAsGo(text, config) && config.IsObject();
}

std::string deploymentConfigProblem(const Value& config, std::string_view service) {
  for (const auto& entry : config.GetObject()) {
    std::string problem = typeProblem(entry.value, std::string{json::text(entry.name)});
    if (!problem.empty()) return problem;
  }
  const Value* resources = deploymentConfigResources(config, service);
  return resources == nullptr ? ""
                              : amountProblem(*resources, std::string{service} + ".ServiceArgs.resources");
}

const Value* deploymentConfigResources(const Value& config, std::string_view service) {
  return findAnyCase(findAnyCase(json::findObject(&config, service), "serviceargs"), "resources");
}

bool hasResource(const Value& resources, std::string_view name, std::string_view gpuType) {
  const Value* custom = findAnyCase(&resources, "custom");
  if (custom != nullptr && json::findRaw(*custom, name) != nullptr) return true;
  if (name == (gpuType.empty() ? api::kDefaultGpuResource : gpuType)) name = "gpu";
  return findAnyCase(&resources, name) != nullptr;
}

std::optional<long long> applyDeploymentConfig(std::string_view service, Value& spec, Allocator& allocator) {
  Value* variable = json::findNamed(json::find(spec, "envs"), api::kDeploymentConfigEnv);
  const std::string_view text = json::findText(variable, "value");
  json::Document config;
  if (text.empty() || !readDeploymentConfig(text, config) ||
      !deploymentConfigProblem(config, service).empty()) {
    return std::nullopt;
  }
  if (const Value* wanted = deploymentConfigResources(config, service)) applyToBoth(*wanted, spec, allocator);
  const Value* workers =
      findAnyCase(findAnyCase(json::findObject(&config, service), "serviceargs"), "workers");
  const std::optional<long long> count =
      workers == nullptr ? std::nullopt : std::optional<long long>{workers->GetInt()};
  if (json::findText(&spec, "componentType") == api::kFrontend) {
    const std::string key{service};
    if (Value* own = json::find(config, key); own != nullptr && own->IsObject()) {
      json::set(*own, "port", Value{api::kFrontendPort}, config.GetAllocator());
    }
    makeDoubles(config);
    json::set(*variable, "value", json::string(goJson(config), allocator), allocator);
  }
  return count;
}

}  // namespace dynamo::render
