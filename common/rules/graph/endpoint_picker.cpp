// Services of type epp (quirks adm-Q13, adm-Q19).

#include <fmt/format.h>

#include <set>

#include "common/api/dynamo.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

bool isPicker(const Service& service) {
  return service.type == api::kEpp;
}

const Value* configOf(const Service& service) {
  return json::findObject(&service.spec, "eppConfig");
}

void apiRequired(const Service& service, const Report& report) {
  if (!isPicker(service) || !service.graph.isGraph) return;
  if (service.graph.policy.inferenceApiPresent.value_or(true)) return;
  report.forbidden(
      service.path,
      "an endpoint picker needs the API inference.networking.k8s.io, which is not installed in the cluster");
}

void singleNode(const Service& service, const Report& report) {
  if (!isPicker(service) || !service.multinode()) return;
  report.forbidden(service.at("multinode"), "an endpoint picker runs on one node");
}

void oneReplica(const Service& service, const Report& report) {
  const auto replicas = integerAt(&service.spec, "replicas");
  // A negative number has its own error.
  if (!isPicker(service) || !replicas || *replicas == 1 || *replicas < 0) return;
  report.invalid(service.at("replicas"), *service.member("replicas"),
                 "must be 1: an endpoint picker has exactly one replica");
}

void configRequired(const Service& service, const Report& report) {
  if (!isPicker(service)) return;
  const Value* config = configOf(service);
  if (config == nullptr) {
    return report.required(service.at("eppConfig"), "must specify one of: configMapRef, config");
  }
  const bool byReference = json::find(config, "configMapRef") != nullptr;
  const bool inlined = json::find(config, "config") != nullptr;
  if (byReference && inlined) {
    report.forbidden(service.at("eppConfig"), "may not specify both configMapRef and config");
  } else if (!byReference && !inlined) {
    report.required(service.at("eppConfig"), "must specify one of: configMapRef, config");
  }
}

void configMapNamed(const Service& service, const Report& report) {
  const Value* reference = json::findObject(configOf(service), "configMapRef");
  if (!isPicker(service) || reference == nullptr || !json::findText(reference, "name").empty()) return;
  report.required(service.at("eppConfig.configMapRef.name"), "must name a ConfigMap");
}

void unusedConfig(const Service& service, const Report& report) {
  if (isPicker(service) || configOf(service) == nullptr) return;
  report.warn(service.at("eppConfig"), "has no effect because componentType is not epp");
}

/// A plugin without a name is referenced by its type.
void knownPlugins(const Service& service, const Report& report) {
  if (!isPicker(service)) return;
  const Value* config = json::findObject(configOf(service), "config");
  std::set<std::string_view> known;
  forEachObject(json::find(config, "plugins"), [&](const Value& plugin, std::size_t) {
    const std::string_view name = json::findText(&plugin, "name");
    known.insert(name.empty() ? json::findText(&plugin, "type") : name);
  });
  const At profiles = service.at("eppConfig.config.schedulingProfiles");
  forEachObject(json::find(config, "schedulingProfiles"), [&](const Value& profile, std::size_t i) {
    const At profileAt = profiles[i];
    const At plugins = profileAt / "plugins";
    forEachObject(json::find(profile, "plugins"), [&](const Value& plugin, std::size_t k) {
      const std::string_view name = json::findText(&plugin, "pluginRef");
      if (known.contains(name)) return;
      const At at = plugins[k];
      report.warn(at / "pluginRef", fmt::format("no plugin is named {}", showValue(name)));
    });
  });
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.epp-api", Severity::Error, "an endpoint picker needs the inference API"},
                 apiRequired},
    ServiceCheck{{"service.epp-multinode", Severity::Error, "an endpoint picker runs on one node"},
                 singleNode},
    ServiceCheck{{"service.epp-replicas", Severity::Error, "an endpoint picker has one replica"}, oneReplica},
    ServiceCheck{{"service.epp-config", Severity::Error,
                  "an endpoint picker has a configuration, inline or in a ConfigMap"},
                 configRequired},
    ServiceCheck{{"service.epp-config-map", Severity::Error, "configMapRef names a ConfigMap"},
                 configMapNamed},
    ServiceCheck{
        {"service.epp-config-unused", Severity::Warning, "only endpoint pickers read their configuration"},
        unusedConfig},
    ServiceCheck{{"service.epp-plugins", Severity::Warning, "profiles refer to plugins of the configuration"},
                 knownPlugins},
};

}  // namespace

std::span<const ServiceCheck> endpointPickerChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
