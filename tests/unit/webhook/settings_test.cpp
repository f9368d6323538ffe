// Flags over the configuration file.

#include "webhook/commands/settings.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "webhook/routes.h"

namespace dynamo::webhook {
namespace {

/// A configuration file that is removed with this object.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view fields)
      : path_(std::filesystem::temp_directory_path() / ("settings_test." + std::to_string(::getpid()))) {
    std::ofstream{path_} << "apiVersion: operator.config.dynamo.nvidia.com/v1alpha1\n"
                            "kind: OperatorConfiguration\n"
                         << fields << '\n';
  }
  ~ConfigFile() { std::filesystem::remove(path_); }
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// The settings, or the errors with each line ended by a bar.
std::variant<Settings, std::string> made(std::string_view fields,
                                         const std::function<void(ServeOptions&)>& flags = {}) {
  const ConfigFile file{fields};
  ServeOptions options;
  options.configFile = file.path();
  if (flags) flags(options);
  auto result = makeSettings(options);
  if (auto* settings = std::get_if<Settings>(&result)) return std::move(*settings);
  std::string why;
  for (const std::string& line : std::get<SettingsErrors>(result)) why += line + "|";
  for (std::size_t at = why.find(file.path()); at != std::string::npos; at = why.find(file.path())) {
    why.replace(at, file.path().size(), "FILE");
  }
  return why;
}

}  // namespace

TEST_CASE("flags override the file") {
  const auto result = made(
      "server: {webhook: {port: 1001, tlsMinVersion: '1.2', certDir: /a}}\n"
      "logging: {level: debug, format: text}",
      [](ServeOptions& options) {
        options.listen = "127.0.0.1:1002";
        options.tlsMinVersion = "1.3";
        options.certDir = "/b";
        options.log.level = "error";
        options.log.format = "json";
      });
  const auto& settings = std::get<Settings>(result);
  CHECK(settings.server.listen.port == 1002);
  CHECK_FALSE(settings.tls.allowTls12);
  CHECK(settings.certDir == "/b");
  CHECK(settings.log.level == log::Level::Error);
  CHECK(settings.log.format == log::Format::Json);
}

TEST_CASE("settings without a flag come from the file") {
  const auto result = made(
      "server: {webhook: {port: 1001, tlsMinVersion: '1.2', certDir: /a, threads: 3,\n"
      "  maxConnections: 7, maxInFlightBytes: 300000000}}\n"
      "logging: {level: debug, format: text}");
  const auto& settings = std::get<Settings>(result);
  CHECK(settings.server.listen.port == 1001);
  CHECK(settings.server.threads == 3);
  CHECK(settings.server.limits.connections == 7);
  CHECK(settings.server.limits.conversionBudget == 300'000'000);
  CHECK(settings.tls.allowTls12);
  CHECK(settings.certDir == "/a");
  CHECK(settings.log.level == log::Level::Debug);
  CHECK(settings.log.format == log::Format::Text);
}

TEST_CASE("denials are logged unless the file or a flag disables them, and the flag overrides the file") {
  const auto logs = [](const char* fields, std::optional<bool> flag) {
    return std::get<Settings>(made(fields, [&](ServeOptions& options) { options.logDenials = flag; }))
        .logDenials;
  };
  CHECK(logs("", std::nullopt));
  CHECK_FALSE(logs("logging: {denials: false}", std::nullopt));
  CHECK(logs("logging: {denials: false}", true));
  CHECK_FALSE(logs("logging: {denials: true}", false));
}

TEST_CASE("clients that may send reviews") {
  const auto guards = [](const char* fields, const std::string& ca,
                         const std::vector<std::string>& names) -> std::string {
    const auto result = made(fields, [&](ServeOptions& options) {
      options.clientCaFile = ca;
      options.clientNames = names;
    });
    if (const auto* why = std::get_if<std::string>(&result)) return *why;
    const auto& settings = std::get<Settings>(result);
    std::string out = settings.clientCaFile;
    for (const std::string& name : settings.clientNames) out += " " + name;
    return out;
  };
  const char* const file = "server: {webhook: {clientCAFile: /a, clientNames: [b, c]}}";
  const char* const alone = "server: {webhook: {clientNames: [b]}}";
  const std::string nothing =
      ": Forbidden: has no effect without server.webhook.clientCAFile (--client-ca-file)|";
  CHECK(guards("", "", {}).empty());
  CHECK(guards(file, "", {}) == "/a b c");
  CHECK(guards(file, "/d", {"e"}) == "/d e");
  CHECK(guards("", "/d", {}) == "/d");
  CHECK(guards(alone, "/d", {}) == "/d b");
  CHECK(guards(alone, "", {}) == "server.webhook.clientNames" + nothing);
  CHECK(guards("", "", {"e"}) == "--client-names" + nothing);
  CHECK(guards("", "/d", {"e", ""}) == "--client-names: Invalid value: \"\": must not be empty|");
}

TEST_CASE("addresses to listen on") {  // cfg-Q14
  const auto result = made(
      "server: {webhook: {host: '[::1]'}, metrics: {bindAddress: localhost},\n"
      "  healthProbe: {bindAddress: 0.0.0.0}}");
  const auto& settings = std::get<Settings>(result);
  CHECK(settings.server.listen.address == "::1");
  CHECK(settings.metrics.address == "localhost");
  CHECK(settings.health.address.empty());
}

TEST_CASE("each listener needs its own port, also with flags") {
  const auto why = [](std::string_view fields, const std::function<void(ServeOptions&)>& flags = {}) {
    const auto result = made(fields, flags);
    return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : std::string{};
  };
  CHECK(why("server: {metrics: {port: 9443}}") ==
        "server.metrics.port: Invalid value: 9443: duplicates the port of server.webhook.port; each listener "
        "must have its own port|");
  const auto moved = [](ServeOptions& options) { options.listen = "127.0.0.1:1002"; };
  CHECK(why("server: {metrics: {port: 9443}}", moved).empty());
  CHECK(why("server: {metrics: {port: 1002}}", moved) ==
        "server.metrics.port: Invalid value: 1002: duplicates the port of --listen; each listener must have "
        "its own port|");
  CHECK(why("", [](ServeOptions& options) { options.healthListen = options.metricsListen = ":1"; }) ==
        "--health-listen: Invalid value: 1: duplicates the port of --metrics-listen; each listener "
        "must have its own port|");
  CHECK(why("", [](ServeOptions& options) { options.healthListen = options.metricsListen = ":0"; }).empty());
}

TEST_CASE("without a file the limits are the server's defaults") {
  const auto result = makeSettings({});
  const Limits& limits = std::get<Settings>(result).server.limits;
  CHECK(limits.connections == Limits{}.connections);
  CHECK(limits.conversionBudget == Limits{}.conversionBudget);
  CHECK(limits.conversionBudget == kMaxConversionBody);
}

TEST_CASE("an unknown level or format in the file, which the reference ignores, is a warning") {
  const auto result = made("logging: {level: loud, format: xml}");
  const auto& settings = std::get<Settings>(result);
  CHECK(settings.log.level == log::Level::Info);
  CHECK(settings.log.format == log::Format::Json);
  REQUIRE(settings.warnings.size() == 2);
  CHECK(settings.warnings[0].find("logging.level: unknown level, \"info\" is used") != std::string::npos);
  CHECK(settings.warnings[1].find("logging.format: unknown format, \"json\" is used") != std::string::npos);
}

TEST_CASE("the reference's flags for logging") {  // cfg-Q1
  struct Row {
    const char* level;
    const char* encoder;
    log::Level expectedLevel;
    log::Format expectedFormat;
  };
  const Row rows[] = {
      {"debug", "console", log::Level::Debug, log::Format::Text},
      {"Info", "JSON", log::Level::Info, log::Format::Json},
      {"error", "", log::Level::Error, log::Format::Text},
      {"panic", "json", log::Level::Error, log::Format::Json},
      {"2", "json", log::Level::Debug, log::Format::Json},
      {"", "", log::Level::Warn, log::Format::Text},
  };
  const auto zap = [](const char* level, const char* encoder) {
    return [=](ServeOptions& options) {
      options.log.zapLevel = level;
      options.log.zapEncoder = encoder;
    };
  };
  const std::string file = "logging: {level: warn, format: text}";
  for (const Row& row : rows) {
    INFO(row.level << ' ' << row.encoder);
    const auto result = made(file, zap(row.level, row.encoder));
    const auto& settings = std::get<Settings>(result);
    CHECK(settings.log.level == row.expectedLevel);
    CHECK(settings.log.format == row.expectedFormat);
  }
  CHECK(std::get<std::string>(made(file, zap("loud", "xml"))) ==
        "--zap-log-level: Unsupported value: \"loud\": supported values: \"debug\", \"error\", \"info\", "
        "\"panic\", an integer greater than 0|"
        "--zap-encoder: Unsupported value: \"xml\": supported values: \"console\", \"json\"|");
  CHECK(std::get<std::string>(made(file, zap("0", ""))).starts_with("--zap-log-level: "));
}

TEST_CASE("each error is reported once, at its source") {
  CHECK(std::get<std::string>(made("server: {webhook: {tlsMinVersion: '1.1'}}")) ==
        "FILE:3: error: server.webhook.tlsMinVersion: Unsupported value: \"1.1\": supported values: \"1.3\", "
        "\"1.2\"|");
  CHECK(std::get<std::string>(made("logging: {level: info}", [](ServeOptions& options) {
          options.tlsMinVersion = "1.1";
          options.log.level = "loud";
          options.log.format = "xml";
          options.listen = "host";
        })).find("--listen: ") == 0);
  CHECK(std::get<std::string>(made("logging: {level: loud}",
                                   [](ServeOptions& options) {
                                     options.tlsMinVersion = "1.1";
                                     options.log.level = "loud";
                                   })) ==
        "--tls-min-version: Unsupported value: \"1.1\": supported values: \"1.2\", \"1.3\"|"
        "--log-level: Unsupported value: \"loud\": supported values: \"debug\", \"error\", \"info\", "
        "\"warn\"|");
}

}  // namespace dynamo::webhook
