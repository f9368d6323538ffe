#pragma once
// The orchestrator of the pods of a graph. Grove runs whole graphs. Without Grove each service is a
// DynamoComponentDeployment, which uses LeaderWorkerSets if it is multinode and a Deployment otherwise.

#include <optional>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/json/value.h"

namespace dynamo::model {

/// Enables and disables orchestrators according to the flag --pathway: "deployment", "lws" or "grove". With
/// "auto" the configuration and the facts of the cluster decide.
void choosePathway(std::string_view pathway, config::OrchestratorsConfig& orchestrators);

/// Whether Grove is enabled: by the configuration or, if not configured, by the presence of its API `api`.
/// nullopt if unknown.
std::optional<bool> groveEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api);

/// Whether LeaderWorkerSets may run multinode components. False only if the configuration disables them or
/// the API is absent.
bool lwsEnabled(const config::OrchestratorsConfig& orchestrators, std::optional<bool> api);

/// Whether the annotation enable-grove of a graph is "false".
bool refusesGrove(const json::Value* annotations);

/// Whether Grove runs a graph with these annotations. An unknown `groveEnabled` counts as true.
bool usesGrove(const json::Value* annotations, std::optional<bool> groveEnabled);

}  // namespace dynamo::model
