#pragma once
// What admission depends on besides the request.

#include <memory>
#include <string>
#include <string_view>

#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "common/render/context.h"
#include "common/rules/request/dgdr.h"
#include "common/rules/validators.h"

namespace dynamo::admission {

/// The configuration, the command line and the facts about the cluster. Immutable while it is shared: new
/// facts need new settings.
struct Settings {
  config::OperatorConfig config;
  std::string operatorVersion;  ///< the Dynamo platform version that is stamped; empty: none
  model::ComponentDefaults defaults;
  render::Facts facts;
  rules::GraphPolicy policy;
  rules::DgdrPolicy dgdr;
  bool warnOnly = false;  ///< validation.mode: warn

  /// `operatorAccount`: "namespace/name" of the controller's service account; empty when unknown.
  Settings(config::OperatorConfig configuration, std::string version, std::string_view operatorAccount = {},
           render::Facts known = {});

  render::Context context() const { return {config, defaults, facts}; }
};

/// The settings without a configuration file and without a version, created once.
std::shared_ptr<const Settings> usualSettings();

}  // namespace dynamo::admission
