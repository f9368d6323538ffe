#include "webhook/commands/settings.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "common/config/listeners.h"
#include "common/config/load.h"
#include "common/config/operator_config_validation.h"
#include "common/k8s/names.h"

namespace dynamo::webhook {
namespace {

class Collector {
 public:
  SettingsErrors errors;

  Endpoint endpoint(const char* flag, const std::string& text, const std::string& host, std::int32_t port) {
    // "0.0.0.0" and "" both mean every address, IPv6 included.
    if (text.empty()) {
      const std::string address{config::withoutBrackets(host)};
      return {address == "0.0.0.0" ? "" : address, static_cast<std::uint16_t>(port)};
    }
    auto parsed = parseEndpoint(text);
    if (auto* endpoint = std::get_if<Endpoint>(&parsed)) return *endpoint;
    errors.push_back(fmt::format("{}: {}", flag, std::get<std::string>(parsed)));
    return {};
  }

  /// The flag's value; `otherwise` without one.
  template <class Parse, class Value>
  Value word(const char* flag, const std::string& text, Parse parse, Value otherwise, const char* allowed) {
    if (text.empty()) return otherwise;
    const auto parsed = parse(text);
    if (!parsed) {
      errors.push_back(
          fmt::format("{}: Unsupported value: \"{}\": supported values: {}", flag, text, allowed));
    }
    return parsed.value_or(otherwise);
  }
};

/// Whether TLS 1.2 is allowed.
std::optional<bool> parseTls(std::string_view minVersion) {
  if (minVersion == "1.2") return true;
  return minVersion == "1.3" ? std::optional{false} : std::nullopt;
}

/// Levels of the reference's flags. Integers are how much more than debug to say; ours has neither more nor
/// less than these.
std::optional<log::Level> parseZapLevel(std::string_view text) {
  const std::string level = k8s::lowerAscii(text);
  if (level == "panic") return log::Level::Error;
  const bool number = !level.empty() && level.find_first_not_of("0123456789") == std::string::npos;
  if (number && level.find_first_not_of('0') != std::string::npos) return log::Level::Debug;
  return log::parseLevel(level);
}

std::optional<log::Format> parseZapEncoder(std::string_view text) {
  const std::string encoder = k8s::lowerAscii(text);
  if (encoder == "console") return log::Format::Text;
  return encoder == "json" ? std::optional{log::Format::Json} : std::nullopt;
}

/// What is wrong with the file's words is told by whoever reads the file.
log::Options logOptions(const config::LoggingConfig& file, const ServeOptions& flags, Collector& collect) {
  log::Options options;
  options.level = log::parseLevel(file.level).value_or(log::Level::Info);
  options.level = collect.word("--zap-log-level", flags.zapLogLevel, parseZapLevel, options.level,
                               R"("debug", "error", "info", "panic", an integer greater than 0)");
  options.level = collect.word("--log-level", flags.logLevel, log::parseLevel, options.level,
                               R"("debug", "error", "info", "warn")");
  options.format = log::parseFormat(file.format).value_or(log::Format::Json);
  options.format = collect.word("--zap-encoder", flags.zapEncoder, parseZapEncoder, options.format,
                                R"("console", "json")");
  options.format =
      collect.word("--log-format", flags.logFormat, log::parseFormat, options.format, R"("json", "text")");
  options.background = true;
  return options;
}

/// Who may ask for admission.
void guardAdmission(const config::WebhookServerConfig& file, const ServeOptions& flags, Collector& collect,
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
        "{}: Forbidden: they guard nothing without server.webhook.clientCAFile (--client-ca-file)", field));
  }
}

}  // namespace

Policy makePolicy(const config::OperatorConfig& config, std::string operatorVersion,
                  std::string_view controllerAccount, render::Facts facts) {
  Policy policy;
  policy.operatorVersion = std::move(operatorVersion);
  policy.warnOnly = config.warnOnly();
  // adm-Q7: one rule for webhook and controller.
  policy.dgdr.hardwareRequired = config.restricted() && !config.gpuDiscoveryEnabled;
  policy.dgdr.allowOtherNamespaces = config.allowOtherNamespaces;
  policy.settings = std::make_shared<CurrentSettings>(
      std::make_shared<const admission::Settings>(config, controllerAccount, std::move(facts)));
  return policy;
}

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
    collect.errors.push_back(fmt::format(
        "--controller-service-account: Invalid value: \"{}\": must be namespace/name of a service account",
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
                         const Endpoint& endpoint) {
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

  settings.tls.allowTls12 =
      collect.word("--tls-min-version", options.tlsMinVersion, parseTls,
                   parseTls(server.webhook.tlsMinVersion).value_or(false), R"("1.2", "1.3")");
  guardAdmission(server.webhook, options, collect, settings);
  settings.log = logOptions(settings.config.logging, options, collect);
  settings.logDenials = options.logDenials.value_or(settings.config.logging.denials);
  settings.controllerAccount = options.controllerAccount;
  settings.factsFile = options.factsFile;
  settings.policy = makePolicy(settings.config, options.operatorVersion, options.controllerAccount);
  if (!collect.errors.empty()) return collect.errors;
  return settings;
}

}  // namespace dynamo::webhook
