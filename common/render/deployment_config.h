#pragma once
// The variable DYN_DEPLOYMENT_CONFIG in the component pathway (quirks child-Q31, dec-7).

#include <optional>
#include <string>

#include "common/render/component.h"

namespace dynamo::render {

/// Where a component's configuration stands in the user's object.
struct DeploymentConfigSource {
  std::string_view text;
  field::Path path;  ///< of the variable's value
};

/// The last variable of that name in the list `own` (at `ownAt`), else in the graph's envs; nullopt: there
/// is none, or it has no value.
std::optional<DeploymentConfigSource> deploymentConfigSource(const json::Value* own, const field::At& ownAt,
                                                             const json::Value* graphEnvs);

/// Reads it as Go does; false when it is no JSON object.
bool readDeploymentConfig(std::string_view text, json::Document& config);

/// What keeps `config` from being applied to `service`: types, of every component, that the reference does
/// not read, and amounts of its own that are none. Empty: nothing.
std::string deploymentConfigProblem(const json::Value& config, std::string_view service);

/// The resources that `config` gives `service`; nullptr: none.
const json::Value* deploymentConfigResources(const json::Value& config, std::string_view service);

/// Whether they have the resource that pods call `name`; `gpuType` of the component may be empty.
bool hasResource(const json::Value& resources, std::string_view name, std::string_view gpuType);

/// Applies the component's part of the configuration to `spec`: port of a frontend, resources. Returns
/// `workers` where given. A text that is no JSON object, or has a problem, changes nothing.
std::optional<long long> applyDeploymentConfig(std::string_view service, json::Value& spec,
                                               json::Allocator& allocator);

}  // namespace dynamo::render
