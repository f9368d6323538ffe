#pragma once
// The input of rendering besides the object: configuration, defaults and facts of the cluster.

#include <optional>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "common/render/fact_index.h"

namespace dynamo::render {

struct Context {
  const config::OperatorConfig& config;
  const model::ComponentDefaults& defaults;
  /// Facts of the cluster. A view with a recorder records the facts that rendering looks up.
  FactsView facts;
  /// Overrides configuration and facts for the choice of the pathway. The annotation of the graph takes
  /// precedence.
  std::optional<bool> grove = std::nullopt;
  /// Used instead of the worker hash when the children are only validated. Computing the hash takes a sixth
  /// of the time of rendering.
  std::string_view placeholderWorkerHash = {};
  /// Whether the children will be created. Their owner must then have a uid.
  bool online = false;
  /// Record the origins of the values in pod templates (Child::origins). It takes time, so admission renders
  /// with it only after it has found something.
  bool recordOrigins = false;
  /// What GPU discovery has chosen for the request that is profiled; nullopt: the fact of the cluster.
  std::optional<HardwareFact> hardware = std::nullopt;

  /// Whether the children are only validated. Then one of several children that differ in a number is enough.
  bool trial() const { return !placeholderWorkerHash.empty(); }
};

}  // namespace dynamo::render
