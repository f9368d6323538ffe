#pragma once
// Mutating admission for DynamoGraphDeployment and DynamoComponentDeployment. Defaults are written into the
// object, values of the user take precedence, and defaults do not become stale (see the laws in
// common/decisions.md).

#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"

namespace dynamo::defaults {

struct DefaultContext {
  const model::ComponentDefaults& components;
  const config::OperatorConfig& config;
  std::string_view operatorVersion;  ///< set as annotation on new graphs unless "" or "unknown"
  std::string_view namespaceName;    ///< namespace of the request, for objects without metadata.namespace
  bool sleepAction = false;          ///< whether the API server knows the action `sleep` of preStop
};

struct DefaultResult {
  std::vector<field::Warning> warnings;
};

/// Sets the defaults of `object`, the object of a request: schema defaults in place of nulls, `replicas`,
/// component defaults, operator-owned annotations and the record of the written defaults. `old` is the stored
/// object on UPDATE and nullptr on CREATE. Objects of other kinds, objects without a spec and component
/// deployments of a graph are not changed. Deterministic.
DefaultResult applyComponentDefaults(json::Value& object, const json::Value* old,
                                     const DefaultContext& context, json::Allocator& allocator);

/// Adds to `object`, an object with defaults, the defaults that admission leaves to rendering: those that a
/// list of the user lacks, and those that complete or replace a value of the user. They are not recorded.
void addDefaultsOfPods(json::Value& object, const DefaultContext& context, json::Allocator& allocator);

/// The intent of the user: a copy of `object` without the record and without the values that the webhook owns
/// according to the record, managedFields and last-applied-configuration.
json::Value intent(const json::Value& object, json::Allocator& allocator);

/// Reduces `object` to its intent in place.
void reduceToIntent(json::Value& object);

}  // namespace dynamo::defaults
