#pragma once
// Which orchestrator runs the pods of a graph. Grove runs whole graphs; without it each service is a
// DynamoComponentDeployment, which LeaderWorkerSets run when it has several nodes, else Deployments.

#include <optional>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/json/value.h"

namespace dynamo::model {

/// Settles which orchestrators are used, as the flag --pathway says: "deployment", "lws" or "grove"; "auto"
/// leaves the configuration and what is known of the cluster to decide.
void choosePathway(std::string_view pathway, config::OrchestratorsConfig& orchestrators);

/// Whether Grove may run graphs: the configuration decides, else whether its API is present. nullopt:
/// unknown.
std::optional<bool> groveEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api);

/// Whether LeaderWorkerSets may run components of several nodes: unless the configuration or a missing API
/// forbids it.
bool lwsEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api);

/// The annotation enable-grove of a graph says "false".
bool refusesGrove(const json::Value* annotations);

/// Whether Grove runs the graph with these annotations. Unknown counts as enabled.
bool usesGrove(const json::Value* annotations, std::optional<bool> groveEnabled);

}  // namespace dynamo::model
