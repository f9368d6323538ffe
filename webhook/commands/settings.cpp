#include "webhook/commands/settings.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "common/config/listeners.h"
#include "common/config/load.h"
#include "common/config/operator_config_validation.h"

namespace dynamo::webhook {
namespace {

class Collector {
 public:
  SettingsErrors errors;

  runtime::Endpoint endpoint(const char* flag, const std::string& text, const std::string& host,
                             std::int32_t port) {
    // "0.0.0.0" and "" both mean all addresses, including IPv6.
    if (text.empty()) {
      const std::string address{config::withoutBrackets(host)};
      return {address == "0.0.0.0" ? "" : address, static_cast<std::uint16_t>(port)};
    }
    auto parsed = runtime::parseEndpoint(text);
    if (auto* endpoint = std::get_if<runtime::Endpoint>(&parsed)) return *endpoint;
    errors.push_back(fmt::format("{}: {}", flag, std::get<std::string>(parsed)));
    return {};
  }
};

/// Whether TLS 1.2 is allowed. The configuration loader has already checked the value of the file.
bool allowsTls12(const std::string& file, const std::string& flag, Collector& collect) {
  if (!flag.empty() && flag != "1.2" && flag != "1.3") {
    collect.errors.push_back(
        fmt::format(R"(--tls-min-version: Unsupported value: "{}": supported values: "1.2", "1.3")", flag));
  }
  return (flag.empty() ? file : flag) == "1.2";
}

/// Sets the requirements for client certificates on admission paths.
void setAdmissionGuard(const config::WebhookServerConfig& file, const ServeOptions& flags, Collector& collect,
                       Settings& settings) {
  const bool named = !flags.clientNames.empty();
  const char* const field = named ? "--client-names" : "server.webhook.clientNames";
  settings.clientCaFile = flags.clientCaFile.empty() ? file.clientCaFile : flags.clientCaFile;
  settings.clientNames = named ? flags.clientNames : file.clientNames;
  for (const std::string& name : settings.clientNames) {
    if (name.empty())
      collect.errors.push_back(fmt::format("{}: Invalid value: \"\": must not be empty", field));
  }
  if (settings.clientCaFile.empty() && !settings.clientNames.empty()) {
    collect.errors.push_back(fmt::format(
        "{}: Forbidden: has no effect without server.webhook.clientCAFile (--client-ca-file)", field));
  }
}

}  // namespace

std::variant<Settings, SettingsErrors> makeSettings(const ServeOptions& options) {
  Settings settings;
  Collector collect;
  if (options.configFile.empty()) {
    settings.config = config::defaultConfig();
  } else {
    config::LoadResult loaded = config::loadConfigFile(options.configFile, config::Purpose::Webhook);
    for (std::string& line : loaded.report()) {
      (loaded.ok() ? settings.warnings : collect.errors).push_back(std::move(line));
    }
    settings.config = std::move(loaded.config);
  }
  if (std::string problem = config::operatorVersionProblem(options.operatorVersion); !problem.empty()) {
    collect.errors.push_back(std::move(problem));
  }
  if (!options.controllerAccount.empty() && !config::isNamespacedName(options.controllerAccount)) {
    collect.errors.push_back(
        fmt::format("--controller-service-account: Invalid value: \"{}\": must be a service account in the "
                    "form namespace/name",
                    options.controllerAccount));
  }
  const config::ServerConfig& server = settings.config.server;
  settings.server.listen =
      collect.endpoint("--listen", options.listen, server.webhook.host, server.webhook.port);
  settings.health = collect.endpoint("--health-listen", options.healthListen, server.healthProbe.bindAddress,
                                     server.healthProbe.port);
  settings.metrics = collect.endpoint("--metrics-listen", options.metricsListen, server.metrics.bindAddress,
                                      server.metrics.port);
  std::array<config::Listener, 3> listeners = config::listenersOf(settings.config);
  const auto chosen = [](config::Listener& listener, const std::string& text, std::string_view flag,
                         const runtime::Endpoint& endpoint) {
    if (!text.empty()) listener = {flag, endpoint.address, endpoint.port, 0};
  };
  chosen(listeners[0], options.listen, "--listen", settings.server.listen);
  chosen(listeners[1], options.metricsListen, "--metrics-listen", settings.metrics);
  chosen(listeners[2], options.healthListen, "--health-listen", settings.health);
  for (const field::FieldError& error : config::listenersInConflict(listeners)) {
    collect.errors.push_back(error.message());
  }
  settings.server.threads = static_cast<unsigned>(server.webhook.threads);
  settings.server.limits.connections = static_cast<std::size_t>(server.webhook.maxConnections);
  settings.server.limits.conversionBudget = static_cast<std::size_t>(server.webhook.maxInFlightBytes);
  settings.certDir = options.certDir.empty() ? server.webhook.certDir : options.certDir;

  settings.tls.allowTls12 = allowsTls12(server.webhook.tlsMinVersion, options.tlsMinVersion, collect);
  setAdmissionGuard(server.webhook, options, collect, settings);
  settings.log = runtime::logOptions(settings.config.logging.level, settings.config.logging.format,
                                     options.log, collect.errors);
  settings.logDenials = options.logDenials.value_or(settings.config.logging.denials);
  settings.controllerAccount = options.controllerAccount;
  settings.factsFile = options.factsFile;
  settings.operatorVersion = options.operatorVersion;
  if (!collect.errors.empty()) return collect.errors;
  return settings;
}

}  // namespace dynamo::webhook
