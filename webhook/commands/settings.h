#pragma once
// Configuration file and flags become one set of settings; flags win.

#include <string>
#include <variant>
#include <vector>

#include "certs/tls_context.h"
#include "common/config/operator_config.h"
#include "common/observability/log.h"
#include "webhook/admit.h"
#include "webhook/commands/serve.h"
#include "webhook/http/server.h"

namespace dynamo::webhook {

struct Settings {
  config::OperatorConfig config;
  ServerOptions server;
  runtime::Endpoint health;
  runtime::Endpoint metrics;
  std::string certDir;
  std::string clientCaFile;              ///< empty: admission asks for no client certificate
  std::vector<std::string> clientNames;  ///< empty: any that the CA signed
  certs::TlsOptions tls;
  log::Options log;
  bool logDenials = true;
  Policy policy;
  std::string controllerAccount;  ///< "namespace/name"; empty when unknown
  std::string factsFile;          ///< empty: none
  std::vector<std::string> warnings;
};

/// Every problem of the flags and the configuration, one line each: path, value, what is allowed.
using SettingsErrors = std::vector<std::string>;

std::variant<Settings, SettingsErrors> makeSettings(const ServeOptions& options);

/// What the rules need of a configuration; `controllerAccount`: "namespace/name" of the controller's service
/// account, empty when unknown.
Policy makePolicy(const config::OperatorConfig& config, std::string operatorVersion,
                  std::string_view controllerAccount = {}, render::Facts facts = {});

}  // namespace dynamo::webhook
