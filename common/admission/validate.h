#pragma once
// Everything that admission says of a graph, a component deployment, a scaling adapter, a model or a
// checkpoint: types, rules, dry render. Webhook and `check` call the same function.

#include <memory>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/field/finding.h"
#include "common/model/component_defaults.h"
#include "common/render/context.h"
#include "common/rules/validators.h"

namespace dynamo::admission {

/// What the rules know besides the request. Never changed: new facts make new settings.
struct Settings {
  config::OperatorConfig config;
  model::ComponentDefaults defaults;
  render::Facts facts;
  rules::GraphPolicy policy;

  /// `operatorAccount`: "namespace/name" of the controller's service account; empty when unknown.
  Settings(config::OperatorConfig configuration, std::string_view operatorAccount, render::Facts known = {});

  render::Context context() const { return {config, defaults, facts}; }
};

/// What holds without a configuration file; made once.
std::shared_ptr<const Settings> usualSettings();

/// A write of one object.
struct ObjectRequest {
  std::string_view kind;
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view username;
};

/// Sorted findings. On UPDATE, what the old object has too is a warning; an object that is being deleted is
/// admitted as it is.
field::Findings validate(const ObjectRequest& request, const Settings& settings);

/// Members of a type that the schema does not allow. The API server refuses them before it asks us; for
/// everyone else the rules must not read past them in silence. Ratcheted when there is an old object.
field::Findings wrongTypes(const json::Value& object, const json::Value* old);

}  // namespace dynamo::admission
