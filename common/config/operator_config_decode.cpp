#include "common/config/operator_config_decode.h"

#include <fmt/format.h>

#include "common/config/decoder.h"
#include "common/config/defaults_overlay.h"

namespace dynamo::config {
namespace {

/// Checks apiVersion or kind. The field may be absent, because the file can only be an OperatorConfiguration.
void checkType(ObjectDecoder& root, std::string_view name, std::string_view expected,
               field::Findings& findings) {
  std::string value;
  root.read(name, value);
  if (value.empty() || value == expected) return;
  findings.error({field::ErrorType::NotSupported, field::Path{name}, field::showValue(value),
                  fmt::format("supported values: \"{}\"", expected), "config-type"});
}

void decodeServer(ObjectDecoder& server, ServerConfig& out) {
  server.section("metrics", [&](ObjectDecoder& d) {
    d.read("bindAddress", out.metrics.bindAddress);
    d.read("port", out.metrics.port);
    d.read("secure", out.metrics.secure);
  });
  server.section("healthProbe", [&](ObjectDecoder& d) {
    d.read("bindAddress", out.healthProbe.bindAddress);
    d.read("port", out.healthProbe.port);
  });
  server.section("webhook", [&](ObjectDecoder& d) {
    d.read("host", out.webhook.host);
    d.read("bindAddress", out.webhook.bindAddress);
    d.read("port", out.webhook.port);
    d.read("certDir", out.webhook.certDir);
    d.read("certProvisionMode", out.webhook.certProvisionMode);
    d.read("secretName", out.webhook.secretName);
    d.read("serviceName", out.webhook.serviceName);
    d.read("tlsMinVersion", out.webhook.tlsMinVersion);
    d.read("clientCAFile", out.webhook.clientCaFile);
    d.read("clientNames", out.webhook.clientNames);
    d.read("threads", out.webhook.threads);
    d.read("shutdownDelay", out.webhook.shutdownDelay);
    d.read("maxConnections", out.webhook.maxConnections);
    d.read("maxInFlightBytes", out.webhook.maxInFlightBytes);
  });
}

void decodeNamespace(ObjectDecoder& d, NamespaceConfig& out) {
  d.read("restricted", out.restricted);
  d.read("excludedNameSubstrings", out.excludedNameSubstrings);
  d.section("scope", [&](ObjectDecoder& scope) {
    scope.read("leaseDuration", out.scope.leaseDuration);
    scope.read("leaseRenewInterval", out.scope.leaseRenewInterval);
    scope.read("leaseNamespaceLabels", out.scope.leaseNamespaceLabels);
  });
}

void decodeOrchestrators(ObjectDecoder& d, OrchestratorsConfig& out) {
  d.section("grove", [&](ObjectDecoder& grove) {
    grove.read("enabled", out.grove.enabled);
    grove.read("terminationDelay", out.grove.terminationDelay);
  });
  d.section("lws", [&](ObjectDecoder& lws) { lws.read("enabled", out.lwsEnabled); });
  d.section("kaiScheduler", [&](ObjectDecoder& kai) { kai.read("enabled", out.kaiSchedulerEnabled); });
}

void decodeCheckpoint(ObjectDecoder& d, CheckpointConfig& out) {
  d.read("enabled", out.enabled);
  d.read("readyForCheckpointFilePath", out.readyForCheckpointFilePath);
  d.section("storage", [&](ObjectDecoder& storage) {
    storage.read("type", out.storageType);
    storage.section("pvc", [&](ObjectDecoder& pvc) {
      pvc.read("pvcName", out.pvcName);
      pvc.read("basePath", out.pvcBasePath);
    });
    const auto objectStore = [&](std::string_view name, ObjectStoreConfig& store) {
      storage.section(name, [&](ObjectDecoder& inner) {
        inner.read("uri", store.uri);
        inner.read("credentialsSecretRef", store.credentialsSecretRef);
      });
    };
    objectStore("s3", out.s3);
    objectStore("oci", out.oci);
  });
}

void decodeClusterServices(ObjectDecoder& root, OperatorConfig& config) {
  root.section("infrastructure", [&](ObjectDecoder& d) {
    d.read("natsAddress", config.infrastructure.natsAddress);
    d.read("etcdAddress", config.infrastructure.etcdAddress);
    d.read("modelExpressURL", config.infrastructure.modelExpressUrl);
    d.read("prometheusEndpoint", config.infrastructure.prometheusEndpoint);
  });
  root.section("ingress", [&](ObjectDecoder& d) {
    d.read("virtualServiceGateway", config.ingress.virtualServiceGateway);
    d.read("controllerClassName", config.ingress.controllerClassName);
    d.read("controllerTLSSecretName", config.ingress.controllerTlsSecretName);
    d.read("hostSuffix", config.ingress.hostSuffix);
  });
  root.section("rbac", [&](ObjectDecoder& d) {
    d.read("plannerClusterRoleName", config.rbac.plannerClusterRoleName);
    d.read("dgdrProfilingClusterRoleName", config.rbac.dgdrProfilingClusterRoleName);
    d.read("eppClusterRoleName", config.rbac.eppClusterRoleName);
  });
  root.section("mpi", [&](ObjectDecoder& d) {
    d.read("sshSecretName", config.mpi.sshSecretName);
    d.read("sshSecretNamespace", config.mpi.sshSecretNamespace);
  });
}

void decodeDefaults(ObjectDecoder& root, OperatorConfig& config, field::Findings& findings) {
  const json::Value* overlay = root.object("defaults");
  if (overlay == nullptr) return;
  auto document = std::make_shared<json::Document>();
  static_cast<json::Value&>(*document) = json::copy(*overlay, document->GetAllocator());
  config.defaults = std::move(document);
  ObjectDecoder defaults{*overlay, field::Path{"defaults"}, findings};
  checkDefaultsOverlay(defaults, *overlay, findings);
  defaults.finish();
}

void decodeOwnFields(ObjectDecoder& root, OperatorConfig& config) {
  root.section("validation", [&](ObjectDecoder& d) { d.read("mode", config.validationMode); });
  root.section("compatibility",
               [&](ObjectDecoder& d) { d.read("autoscaling", config.compatibilityAutoscaling); });
  root.section("requests", [&](ObjectDecoder& d) {
    d.read("allowOtherNamespaces", config.allowOtherNamespaces);
    d.read("outputCopierImage", config.outputCopierImage);
    d.read("outputCopierCommand", config.outputCopierCommand);
  });
  root.section("scaling", [&](ObjectDecoder& d) {
    d.read("allowedServiceAccounts", config.scalingAllowedServiceAccounts);
  });
}

}  // namespace

OperatorConfig decodeConfig(const json::Value& root, field::Findings& findings) {
  OperatorConfig config;
  KnownSettings names;
  ObjectDecoder decoder{root, {}, findings, &names};
  checkType(decoder, "apiVersion", kConfigApiVersion, findings);
  checkType(decoder, "kind", kConfigKind, findings);
  decoder.section("server", [&](ObjectDecoder& d) { decodeServer(d, config.server); });
  decoder.section("leaderElection", [&](ObjectDecoder& d) {
    d.read("enabled", config.leaderElection.enabled);
    d.read("id", config.leaderElection.id);
    d.read("namespace", config.leaderElection.namespaceName);
  });
  decoder.section("namespace", [&](ObjectDecoder& d) { decodeNamespace(d, config.namespaces); });
  decoder.section("orchestrators", [&](ObjectDecoder& d) { decodeOrchestrators(d, config.orchestrators); });
  decodeClusterServices(decoder, config);
  decoder.section("checkpoint", [&](ObjectDecoder& d) { decodeCheckpoint(d, config.checkpoint); });
  decoder.section("discovery", [&](ObjectDecoder& d) { d.read("backend", config.discoveryBackend); });
  decoder.section("gpu", [&](ObjectDecoder& d) {
    d.read("discoveryEnabled", config.gpuDiscoveryEnabled);
    d.read("exporterNamespaces", config.gpuExporterNamespaces);
  });
  decoder.section("logging", [&](ObjectDecoder& d) {
    d.read("level", config.logging.level);
    d.read("format", config.logging.format);
    d.read("denials", config.logging.denials);
  });
  decoder.section("security", [&](ObjectDecoder& d) { d.read("enableHTTP2", config.enableHttp2); });
  decodeDefaults(decoder, config, findings);
  decodeOwnFields(decoder, config);
  decoder.finish();
  names.report(findings);
  return config;
}

}  // namespace dynamo::config
