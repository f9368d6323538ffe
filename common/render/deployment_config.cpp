#include "common/render/deployment_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

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

/// Finds a member. As in the reference, names are case-insensitive and the last match takes precedence.
const Value* findAnyCase(const Value* object, std::string_view name) {
  const Value* found = nullptr;
  if (object == nullptr || !object->IsObject()) return nullptr;
  for (const auto& member : object->GetObject()) {
    if (k8s::lowerAscii(json::text(member.name)) == name) found = &member.value;
  }
  return found == nullptr || found->IsNull() ? nullptr : found;
}

/// The resources that `config` gives `service`; nullptr: none.
const Value* deploymentConfigResources(const Value& config, std::string_view service) {
  return findAnyCase(findAnyCase(json::findObject(&config, service), "serviceargs"), "resources");
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

/// The type error of Go's decoder for the entry of one component; empty if there is none.
std::string typeProblem(const Value& entry, const std::string& path) {
  if (entry.IsNull()) return {};
  if (!entry.IsObject()) return path + " must be an object";
  const Value* arguments = findAnyCase(&entry, "serviceargs");
  if (arguments == nullptr) return {};
  const std::string below = path + ".ServiceArgs";
  if (!arguments->IsObject()) return below + " must be an object";
  const Value* workers = findAnyCase(arguments, "workers");
  if (workers != nullptr && !workers->IsInt()) return below + ".workers must be a 32-bit integer";
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

/// `from`: what the origin of the variable's value is.
void applyToBoth(const Value& wanted, Value& spec, const Origin& from, Origins* origins,
                 Allocator& allocator) {
  Value& resources = json::ensureObject(spec, "resources", allocator);
  for (const std::string_view kind : {"requests", "limits"}) {
    Value& item = json::ensureObject(resources, kind, allocator);
    for (const std::string_view name : {"cpu", "memory", "gpu", "custom"}) {
      const Value* value = findAnyCase(&wanted, name);
      if (value == nullptr) continue;
      json::set(item, name, json::copy(*value, allocator), allocator);
      if (origins != nullptr) origins->set(field::Path{"resources"} / kind / name, from);
    }
  }
}

Origin madeOf(Origin origin) {
  origin.source = std::max(origin.source, Origin::Source::Made);
  return origin;
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

std::optional<long long> deploymentConfigWorkers(const Value& config, std::string_view service) {
  const Value* workers =
      findAnyCase(findAnyCase(json::findObject(&config, service), "serviceargs"), "workers");
  return workers == nullptr ? std::nullopt : std::optional<long long>{workers->GetInt()};
}

long long componentReplicas(std::string_view key, const Value& service, const Value* graphEnvs) {
  constexpr long long kMaxReplicas = std::numeric_limits<std::int32_t>::max();
  const Value* replicas = json::find(service, "replicas");
  if (replicas != nullptr) {
    return replicas->IsInt64() ? std::clamp<long long>(replicas->GetInt64(), 0, kMaxReplicas) : 1;
  }
  const auto source = deploymentConfigSource(json::find(service, "envs"), "envs", graphEnvs);
  json::Document config;
  if (!source || !readDeploymentConfig(source->text, config) ||
      !deploymentConfigProblem(config, key).empty()) {
    return 1;
  }
  return std::max(0LL, deploymentConfigWorkers(config, key).value_or(1));
}

std::optional<long long> applyDeploymentConfig(std::string_view service, Value& spec, Origins* origins,
                                               Allocator& allocator) {
  Value* variables = json::find(spec, "envs");
  Value* variable = json::findNamed(variables, api::kDeploymentConfigEnv);
  const std::string_view text = json::findText(variable, "value");
  json::Document config;
  if (text.empty() || !readDeploymentConfig(text, config) ||
      !deploymentConfigProblem(config, service).empty()) {
    return std::nullopt;
  }
  field::Path at;
  Origin from;
  if (origins != nullptr) {
    at = field::Path{"envs"}[static_cast<std::size_t>(variable - variables->Begin())] / "value";
    from = madeOf(origins->own(at));
  }
  if (const Value* wanted = deploymentConfigResources(config, service)) {
    applyToBoth(*wanted, spec, from, origins, allocator);
  }
  const std::optional<long long> count = deploymentConfigWorkers(config, service);
  if (json::findText(&spec, "componentType") == api::kFrontend) {
    const std::string key{service};
    if (Value* own = json::find(config, key); own != nullptr && own->IsObject()) {
      json::set(*own, "port", Value{api::kFrontendPort}, config.GetAllocator());
    }
    makeDoubles(config);
    json::set(*variable, "value", json::string(goJson(config), allocator), allocator);
    if (origins != nullptr) origins->set(at, from);
  }
  return count;
}

}  // namespace dynamo::render
