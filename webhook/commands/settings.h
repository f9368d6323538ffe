#pragma once
// Merges the configuration file and the flags into one set of settings; flags take precedence.

#include <string>
#include <variant>
#include <vector>

#include "certs/tls_context.h"
#include "common/config/operator_config.h"
#include "common/observability/log.h"
#include "webhook/commands/serve.h"
#include "webhook/current_settings.h"
#include "webhook/http/server.h"

namespace dynamo::webhook {

struct Settings {
  config::OperatorConfig config;
  ServerOptions server;
  runtime::Endpoint health;
  runtime::Endpoint metrics;
  std::string certDir;
  std::string clientCaFile;              ///< empty: admission requires no client certificate
  std::vector<std::string> clientNames;  ///< empty: every name is allowed
  certs::TlsOptions tls;
  log::Options log;
  bool logDenials = true;
  std::string operatorVersion;
  std::string controllerAccount;  ///< "namespace/name"; empty when unknown
  std::string factsFile;          ///< empty: none
  std::vector<std::string> warnings;
};

/// All problems of the flags and the configuration, one line each.
using SettingsErrors = std::vector<std::string>;

std::variant<Settings, SettingsErrors> makeSettings(const ServeOptions& options);

}  // namespace dynamo::webhook
