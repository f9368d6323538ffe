#pragma once
// The variable DYN_DEPLOYMENT_CONFIG in the component pathway (quirks child-Q31, dec-7).

#include <optional>
#include <string>

#include "common/render/component.h"

namespace dynamo::render {

/// The configuration of a component and its field in the object of the user.
struct DeploymentConfigSource {
  std::string_view text;
  field::Path path;  ///< field path of the value
};

/// The last variable DYN_DEPLOYMENT_CONFIG in the list `own` at `ownAt`, else in the envs of the graph.
/// nullopt if it is absent or has no value.
std::optional<DeploymentConfigSource> deploymentConfigSource(const json::Value* own, const field::At& ownAt,
                                                             const json::Value* graphEnvs);

/// Decodes the configuration as Go does. Returns false if it is not a JSON object.
bool readDeploymentConfig(std::string_view text, json::Document& config);

/// The reason why `config` cannot be applied to `service`: a wrong type in the entry of any component, or an
/// invalid quantity in the entry of `service`. Empty if valid.
std::string deploymentConfigProblem(const json::Value& config, std::string_view service);

/// The number of workers that `config` gives `service`.
std::optional<long long> deploymentConfigWorkers(const json::Value& config, std::string_view service);

/// spec.replicas of the DynamoComponentDeployment of `service`, whose key in spec.services is `key`: its own
/// replicas, else the workers of its DYN_DEPLOYMENT_CONFIG, else 1. Never negative.
long long componentReplicas(std::string_view key, const json::Value& service, const json::Value* graphEnvs);

/// Applies the entry of `service` to `spec`: the port of a frontend, and resources. Returns `workers` if set.
/// An invalid configuration changes nothing. `origins` are the origins of `spec`, or nullptr.
std::optional<long long> applyDeploymentConfig(std::string_view service, json::Value& spec, Origins* origins,
                                               json::Allocator& allocator);

}  // namespace dynamo::render
