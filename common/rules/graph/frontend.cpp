// Where frontends listen, and what their sidecars do not have (decisions dec-20, dec-22).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/rules/graph/process.h"

namespace dynamo::rules {
namespace {

using json::Value;

/// Variables that tell the frontend its port.
constexpr std::array<std::string_view, 2> kPortVariables = {"DYN_HTTP_PORT", "DYNAMO_PORT"};

std::optional<long long> portIn(std::string_view text) {
  long long port = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
  return whole ? std::optional{port} : std::nullopt;
}

/// The last port of --http-port in a command line and the index of the word that has it.
struct PortFlag {
  std::optional<long long> port;
  std::size_t word = 0;
};

PortFlag portFlag(const std::vector<std::string>& words) {
  PortFlag found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view text = words[i];
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (name != "--http-port" && name != "--http_port") continue;
    if (equals != std::string_view::npos) {
      found = {portIn(text.substr(equals + 1)), i};
    } else if (i + 1 < words.size()) {
      found = {portIn(words[i + 1]), i + 1};
    }
  }
  return found;
}

/// The port that the name "http" of the probes and of the Service stands for; nullopt when the user's ports
/// do not have the name.
std::optional<long long> servedPort(const Service& service) {
  const Value* ports = json::find(service.mainContainer(), "ports");
  if (isEmptyList(ports)) return api::kFrontendPort;
  return integerAt(json::findNamed(ports, "http"), "containerPort");
}

void warnOtherPort(const At& at, long long port, long long served, const Report& report) {
  if (port == served) return;
  report.warn(at, fmt::format("the frontend listens on {}, but probes and clients use {}", port, served));
}

void checkVariables(const Value* list, const At& at, long long served, const Report& report) {
  forEachObject(list, [&](const Value& variable, std::size_t i) {
    const std::string_view name = json::findText(&variable, "name");
    if (std::find(kPortVariables.begin(), kPortVariables.end(), name) == kPortVariables.end()) return;
    const std::optional<long long> port = portIn(json::findText(&variable, "value"));
    const At item = at[i];
    if (port) warnOtherPort(item / "value", *port, served, report);
  });
}

/// Only the variable that counts is judged: that of the container, else of the service, else of the graph.
/// The default port may be a default of the operator, so it is told at the ports.
void variablesTell(const Service& service, long long served, const Report& report) {
  struct Source {
    const Value* list;
    At at;
  };
  std::vector<Source> sources;
  sources.push_back(
      {json::find(service.mainContainer(), "env"), service.at("extraPodSpec.mainContainer.env")});
  if (service.graph.isGraph) sources.push_back({service.member("envs"), service.at("envs")});
  sources.push_back({json::find(service.graph.spec, "envs"), "spec.envs"});
  for (const Source& source : sources) {
    bool told = false;
    forEachObject(source.list, [&](const Value& variable, std::size_t i) {
      const std::string_view name = json::findText(&variable, "name");
      const std::optional<long long> port = portIn(json::findText(&variable, "value"));
      if (told || !port || *port == api::kFrontendPort ||
          std::find(kPortVariables.begin(), kPortVariables.end(), name) == kPortVariables.end())
        return;
      told = true;
      const At item = source.at[i];
      warnOtherPort(item / "value", *port, served, report);
    });
    if (told) return;
  }
  warnOtherPort(service.at("extraPodSpec.mainContainer.ports"), api::kFrontendPort, served, report);
}

/// A flag takes precedence over variables.
void frontendPort(const Service& service, const Report& report) {
  const std::optional<long long> served = servedPort(service);
  if (service.type != api::kFrontend || !served) return;
  const Process process = processOf(service);
  bool flag = false;
  if (process.script) {
    for (const std::vector<std::string>& command : commandsIn(process.items[*process.script])) {
      const PortFlag found = portFlag(command);
      flag = flag || found.port;
      if (found.port) warnOtherPort(process.field(*process.script), *found.port, *served, report);
    }
  } else {
    const PortFlag found = portFlag({process.items.begin(), process.items.end()});
    flag = found.port.has_value();
    if (found.port) warnOtherPort(process.field(found.word), *found.port, *served, report);
  }
  if (!flag) variablesTell(service, *served, report);
}

/// The ports of a sidecar cannot be changed.
void sidecarListens(const Service& service, const Report& report) {
  const Value* sidecar = json::findObject(&service.spec, "frontendSidecar");
  if (sidecar == nullptr) return;
  const std::vector<std::string_view> args = textsOf(json::find(sidecar, "args"));
  const PortFlag found = portFlag({args.begin(), args.end()});
  if (found.port) {
    const At list = service.at("frontendSidecar.args");
    return warnOtherPort(list[found.word], *found.port, api::kFrontendPort, report);
  }
  checkVariables(json::find(sidecar, "envs"), service.at("frontendSidecar.envs"), api::kFrontendPort, report);
}

/// Whether the main container mounts a claim of the pod.
bool mountsClaim(const Service& service) {
  if (!isEmptyList(service.member("volumeMounts"))) return true;
  bool found = false;
  forEachObject(json::find(service.mainContainer(), "volumeMounts"), [&](const Value& mount, std::size_t) {
    const Value* volume =
        json::findNamed(json::find(service.podSpec(), "volumes"), json::findText(&mount, "name"));
    found = found || json::findObject(volume, "persistentVolumeClaim") != nullptr;
  });
  return found;
}

void sidecarClaims(const Service& service, const Report& report) {
  if (json::findObject(&service.spec, "frontendSidecar") == nullptr || !mountsClaim(service)) return;
  report.warn(service.at("frontendSidecar"),
              "does not mount the claims of the main container: models there are not found by the sidecar");
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.frontend-port", Severity::Warning,
                  "a frontend listens where its probes and its Service expect it"},
                 frontendPort},
    ServiceCheck{{"service.sidecar-listens", Severity::Warning, "a frontend sidecar listens on port 8000"},
                 sidecarListens},
    ServiceCheck{{"service.sidecar-claims", Severity::Warning, "a frontend sidecar mounts no claims"},
                 sidecarClaims},
};

}  // namespace

std::span<const ServiceCheck> frontendChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
