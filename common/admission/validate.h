#pragma once
// Validation of graphs, component deployments, scaling adapters, models and checkpoints: types, rules and dry
// render. The webhook and `check` call the same function.

#include <memory>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/field/finding.h"
#include "common/model/component_defaults.h"
#include "common/render/context.h"
#include "common/rules/validators.h"

namespace dynamo::admission {

/// The configuration and the facts about the cluster for validation. Immutable: new facts need new settings.
struct Settings {
  config::OperatorConfig config;
  model::ComponentDefaults defaults;
  render::Facts facts;
  rules::GraphPolicy policy;

  /// `operatorAccount`: "namespace/name" of the controller's service account; empty when unknown.
  Settings(config::OperatorConfig configuration, std::string_view operatorAccount, render::Facts known = {});

  render::Context context() const { return {config, defaults, facts}; }
};

/// The settings without a configuration file, created once.
std::shared_ptr<const Settings> usualSettings();

/// A write of one object.
struct ObjectRequest {
  std::string_view kind;
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view username;
};

/// Sorted findings. On UPDATE a defect that the old object already has is a warning. An object that is being
/// deleted is always admitted.
field::Findings validate(const ObjectRequest& request, const Settings& settings);

/// Values of a type that the schema does not allow. The API server rejects them before it calls the webhook.
/// Other callers need these errors because the rules skip such values. Ratcheted when there is an old object.
field::Findings wrongTypes(const json::Value& object, const json::Value* old);

}  // namespace dynamo::admission
