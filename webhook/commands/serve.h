#pragma once
// `dynamo-webhook serve`: runs the HTTPS server, probes and metrics until a stop signal.

#include <optional>
#include <string>
#include <vector>

#include "common/runtime/log_flags.h"

namespace dynamo::webhook {

/// The flags. An empty value means that the configuration file decides.
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

/// Runs until SIGTERM or SIGINT. Returns the exit status: 0 after a clean shutdown, 1 when the start failed.
int runServe(const ServeOptions& options);

}  // namespace dynamo::webhook
