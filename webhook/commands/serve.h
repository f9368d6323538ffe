#pragma once
// `dynamo-webhook serve`: configuration, certificates, HTTPS server, probes, metrics, shutdown.

#include <optional>
#include <string>
#include <vector>

#include "common/runtime/log_flags.h"

namespace dynamo::webhook {

/// What the command line says; empty means "as the configuration file says".
struct ServeOptions {
  std::string configFile;
  std::string operatorVersion = "1.0.0";
  std::string controllerAccount;  ///< "namespace/name" (quirk adm-Q9)
  std::string factsFile;          ///< need not exist (quirk adm-Q13)
  std::string listen;
  std::string healthListen;
  std::string metricsListen;
  std::string certDir;
  std::string tlsMinVersion;
  std::string clientCaFile;
  std::vector<std::string> clientNames;
  runtime::LogFlags log;
  std::optional<bool> logDenials;
};

/// Runs until SIGTERM or SIGINT. Exit status: 0 after a clean shutdown, 1 when it could not start.
int runServe(const ServeOptions& options);

}  // namespace dynamo::webhook
