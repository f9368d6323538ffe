#pragma once
// What rendering knows besides the object: configuration, defaults, and plain facts of the cluster.

#include <optional>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "common/render/fact_index.h"

namespace dynamo::render {

struct Context {
  const config::OperatorConfig& config;
  const model::ComponentDefaults& defaults;
  /// Facts of the cluster; with a recorder, what the rendering looks up is known afterwards.
  FactsView facts;
  /// Decides the pathway in place of configuration and facts; the graph's annotation still comes first.
  std::optional<bool> grove = std::nullopt;
  /// Stands for the hash of the workers where nobody will read the children: computing it costs a sixth of
  /// all.
  std::string_view anyWorkerHash = {};
  /// The children will be created: an owner must have a uid, as everything that the API server stores.
  bool online = false;

  /// A trial: of children that differ in a number only, one is enough.
  bool trial() const { return !anyWorkerHash.empty(); }
};

}  // namespace dynamo::render
