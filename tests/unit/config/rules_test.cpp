// The rules of OperatorConfiguration.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <set>

#include "common/config/load.h"

namespace dynamo::config {
namespace {

constexpr std::string_view kMinimal = R"(
mpi: {sshSecretName: mpi-run-ssh-secret}
)";
constexpr std::string_view kRoles = R"(
rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q, eppClusterRoleName: e}
)";
constexpr std::string_view kService = R"(
server: {webhook: {serviceName: webhook-service}}
)";

/// The paths of all errors, separated by spaces.
std::string pathsOf(const std::string& yaml, Purpose purpose) {
  std::string out;
  for (const auto& error : loadConfigText(yaml, "c.yaml", purpose).errors) {
    out += out.empty() ? "" : " ";
    out += error.field.text();
  }
  return out;
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

}  // namespace

TEST_CASE("settings that only the controller requires") {
  struct Row {
    std::string yaml;
    std::string_view controller;
  };
  const Row table[] = {
      {join({kMinimal, kRoles, kService}), ""},
      {join({kRoles, kService}), "mpi.sshSecretName"},
      {join({kMinimal, kService}),
       "rbac.dgdrProfilingClusterRoleName rbac.eppClusterRoleName rbac.plannerClusterRoleName"},
      {join({kMinimal, kService, "rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q}"}),
       "rbac.eppClusterRoleName"},
      {join({kMinimal, kService, "namespace: {restricted: team-a}"}), ""},
      {join({kMinimal, kRoles}), "server.webhook.serviceName"},
      {"",
       "mpi.sshSecretName rbac.dgdrProfilingClusterRoleName rbac.eppClusterRoleName "
       "rbac.plannerClusterRoleName server.webhook.serviceName"},
  };
  for (const Row& row : table) {
    CAPTURE(row.yaml);
    CHECK(pathsOf(row.yaml, Purpose::Controller) == row.controller);
    CHECK(pathsOf(row.yaml, Purpose::Webhook).empty());
    CHECK(pathsOf(row.yaml, Purpose::Offline).empty());
    // For the check of a file the same errors are warnings, because the file may be for the webhook only.
    const LoadResult checked = loadConfigText(row.yaml, "c.yaml", Purpose::Check);
    CHECK(checked.ok());
    std::set<std::string> paths;
    for (const auto& warning : checked.warnings) paths.insert(warning.field.text());
    CHECK(fmt::format("{}", fmt::join(paths, " ")) == row.controller);
  }
}

TEST_CASE("values are checked for every program") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"server: {metrics: {port: 99999}}", "server.metrics.port"},
      {"server: {metrics: {port: -1}}", "server.metrics.port"},
      {"server: {metrics: {port: 65535}}", ""},
      {"server: {healthProbe: {port: 65536}}", "server.healthProbe.port"},
      {"server: {webhook: {port: -5}}", "server.webhook.port"},
      {"server: {webhook: {certProvisionMode: foo}}", "server.webhook.certProvisionMode"},
      {"server: {webhook: {certProvisionMode: manual}}", ""},
      {"server: {webhook: {tlsMinVersion: '1.1'}}", "server.webhook.tlsMinVersion"},
      {"server: {webhook: {tlsMinVersion: '1.2'}}", ""},
      {"server: {webhook: {threads: 257}}", "server.webhook.threads"},
      {"server: {webhook: {maxConnections: -1}}", "server.webhook.maxConnections"},
      {"server: {webhook: {maxInFlightBytes: 1000}}", "server.webhook.maxInFlightBytes"},
      {"server: {webhook: {shutdownDelay: -1s}}", "server.webhook.shutdownDelay"},
      // cfg-Q14: every address that the reference accepts, IPv6 with and without brackets
      {"server: {metrics: {bindAddress: localhost}, webhook: {host: '[::1]'}}", ""},
      {"server: {metrics: {bindAddress: '::1'}, healthProbe: {bindAddress: 'fe80::1%eth0'}}", ""},
      {"server: {metrics: {bindAddress: my_host.example.}, webhook: {host: '[::]'}}", ""},
      {"server: {metrics: {bindAddress: 'a b'}}", "server.metrics.bindAddress"},
      {"server: {healthProbe: {bindAddress: '10.0.0'}}", "server.healthProbe.bindAddress"},
      {"server: {webhook: {host: '[::1'}}", "server.webhook.host"},
      {"server: {webhook: {host: '0.0.0.0:9443'}}", "server.webhook.host"},
      {"leaderElection: {enabled: true}", "leaderElection.id"},
      {"leaderElection: {enabled: true, id: x}", ""},
      {"namespace: {restricted: a, scope: {leaseDuration: 10s, leaseRenewInterval: 15s}}",
       "namespace.scope.leaseRenewInterval"},
      {"namespace: {restricted: a, scope: {leaseDuration: 10s, leaseRenewInterval: 10s}}",
       "namespace.scope.leaseRenewInterval"},
      {"namespace: {restricted: a, scope: {leaseDuration: 0s, leaseRenewInterval: 0s}}", ""},
      {"namespace: {restricted: a, scope: {leaseDuration: -1s}}", "namespace.scope.leaseDuration"},
      {"namespace: {restricted: a, scope: {leaseRenewInterval: -1s}}", "namespace.scope.leaseRenewInterval"},
      {"namespace: {restricted: a, scope: {leaseDuration: 999ms, leaseRenewInterval: 1ms}}",
       "namespace.scope.leaseDuration"},
      {"namespace: {restricted: a, scope: {leaseDuration: 1s, leaseRenewInterval: 1ms}}", ""},
      {"namespace: {scope: {leaseDuration: -1s, leaseRenewInterval: 15s}}", ""},
      {"gpu: {exporterNamespaces: [gpu-operator, 'a/b']}", "gpu.exporterNamespaces[1]"},
      {"gpu: {exporterNamespaces: []}", ""},
      {"namespace: {excludedNameSubstrings: [ephemeral, '']}", "namespace.excludedNameSubstrings[1]"},
      {"infrastructure: {modelExpressURL: '://bad-url'}", "infrastructure.modelExpressURL"},
      {"infrastructure: {modelExpressURL: 'http://x:8001'}", ""},
      {"infrastructure: {modelExpressURL: localhost}", ""},
      {"discovery: {backend: consul}", "discovery.backend"},
      {"discovery: {backend: etcd}", ""},
      {"checkpoint: {enabled: false, storage: {type: invalid}}", ""},
      {"checkpoint: {enabled: true, storage: {type: nfs}}", "checkpoint.storage.type"},
      {"checkpoint: {enabled: true, storage: {type: s3}}", "checkpoint.storage.s3.uri"},
      {"checkpoint: {enabled: true, storage: {type: s3, s3: {uri: 's3://b/p'}}}", ""},
      {"checkpoint: {enabled: true, storage: {type: oci}}", "checkpoint.storage.oci.uri"},
      {"checkpoint: {enabled: true, storage: {type: pvc}}", ""},
      {"orchestrators: {grove: {terminationDelay: -1s}}", "orchestrators.grove.terminationDelay"},
      {"orchestrators: {grove: {terminationDelay: 4h}}", ""},
      {"validation: {mode: lax}", "validation.mode"},
      {"requests: {outputCopierImage: 'a b'}", "requests.outputCopierImage"},
      {"requests: {outputCopierCommand: [a, '']}", "requests.outputCopierCommand[1]"},
      {"scaling: {allowedServiceAccounts: [a/b, a, /b, a/, a/b/c]}",
       "scaling.allowedServiceAccounts[1] scaling.allowedServiceAccounts[2] "
       "scaling.allowedServiceAccounts[3] "
       "scaling.allowedServiceAccounts[4]"},
  };
  for (const auto& [yaml, expected] : table) {
    CAPTURE(yaml);
    CHECK(pathsOf(std::string{yaml}, Purpose::Offline) == expected);
  }
}

TEST_CASE("each listener has a port of its own") {
  const auto duplicatePort = [](std::string_view field, int port, std::string_view other) {
    return fmt::format(
        "server.{}.port: Invalid value: {}: duplicates the port of server.{}.port; each listener must "
        "have its own port",
        field, port, other);
  };
  const std::pair<std::string_view, std::string> table[] = {
      {"{metrics: {port: 9443}}", duplicatePort("metrics", 9443, "webhook")},
      {"{webhook: {port: 8080}}",
       duplicatePort("webhook", 8080, "metrics")},  // the other port is the default
      {"{healthProbe: {port: 8080}}", duplicatePort("healthProbe", 8080, "metrics")},
      {"{metrics: {port: 1}, webhook: {port: 1}}", duplicatePort("metrics", 1, "webhook")},
      {"{metrics: {port: 0}, healthProbe: {port: 8080}}", duplicatePort("healthProbe", 8080, "metrics")},
      {"{metrics: {port: 0}, healthProbe: {port: 0}, webhook: {port: 0}}", ""},
      {"{metrics: {port: 1, bindAddress: 10.0.0.1}, webhook: {port: 1, host: 10.0.0.2}}", ""},
      {"{metrics: {port: 1, bindAddress: 10.0.0.1}, webhook: {port: 1}}",
       duplicatePort("metrics", 1, "webhook")},
      {"{metrics: {port: 1, bindAddress: '::1'}, webhook: {port: 1, host: '[::1]'}}",
       duplicatePort("metrics", 1, "webhook")},
      {"{metrics: {port: 1, bindAddress: localhost}, webhook: {port: 1, host: 127.0.0.1}}",
       duplicatePort("metrics", 1, "webhook")},
  };
  for (const auto& [server, expected] : table) {
    CAPTURE(server);
    const std::string yaml = "server: " + std::string{server};
    for (const Purpose purpose : {Purpose::Offline, Purpose::Check}) {
      const LoadResult result = loadConfigText(yaml, "c.yaml", purpose);
      CHECK((result.errors.empty() ? "" : result.errors.front().message()) == expected);
      CHECK(result.errors.size() <= 1);
    }
    CHECK(loadConfigText(yaml, "c.yaml", Purpose::Webhook).ok());  // its flags may override the ports
  }
}

TEST_CASE("invalid object names are warnings") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"server: {webhook: {secretName: A_b}}",
       "server.webhook.secretName: \"A_b\" is not a valid Secret name"},
      {"server: {webhook: {serviceName: a.b}}",
       "server.webhook.serviceName: \"a.b\" is not a valid Service name"},
      {"leaderElection: {id: A}", "leaderElection.id: \"A\" is not a valid Lease name"},
      {"leaderElection: {namespace: A}", "leaderElection.namespace: \"A\" is not a valid namespace name"},
      {"namespace: {restricted: Team_A}", "namespace.restricted: \"Team_A\" is not a valid namespace name"},
      {"mpi: {sshSecretName: A}", "mpi.sshSecretName: \"A\" is not a valid Secret name"},
      {"checkpoint: {storage: {s3: {credentialsSecretRef: A}}}",
       "checkpoint.storage.s3.credentialsSecretRef: \"A\" is not a valid Secret name"},
      {"checkpoint: {storage: {oci: {credentialsSecretRef: A}}}",
       "checkpoint.storage.oci.credentialsSecretRef: \"A\" is not a valid Secret name"},
  };
  for (const auto& [yaml, expected] : table) {
    CAPTURE(yaml);
    const LoadResult result = loadConfigText(yaml, "c.yaml", Purpose::Webhook);
    CHECK(result.ok());
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].message() == expected);
  }
}

TEST_CASE("the rules also apply before defaulting") {
  OperatorConfig config = defaultConfig();
  config.namespaces.restricted = std::string{"team-a"};
  config.namespaces.scope.leaseDuration = k8s::Duration{0};
  config.namespaces.scope.leaseRenewInterval = k8s::Duration{0};
  CHECK(validateConfig(config, Purpose::Offline).size() == 2);
}

TEST_CASE("a URL is never shown because it may contain a password") {
  const LoadResult result = loadConfigText("infrastructure: {modelExpressURL: 'http://u:hunter2@h:x/'}",
                                           "c.yaml", Purpose::Offline);
  CHECK(result.report() ==
        std::vector<std::string>{"c.yaml:1: error: infrastructure.modelExpressURL: Invalid "
                                 "value: invalid port after host"});
}

TEST_CASE("settings without effect are warnings") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"server: {webhook: {bindAddress: '::'}}", "server.webhook.bindAddress"},
      {"security: {enableHTTP2: true}", "security.enableHTTP2"},
      {"compatibility: {autoscaling: true}", ""},
      {"logging: {level: loud}", "logging.level"},
      {"logging: {format: console}", "logging.format"},
      {"logging: {level: debug, format: text}", ""},
      // ingress.* is never an error, because the rest of a graph runs
      {"ingress: {controllerClassName: C_}", "ingress.controllerClassName"},
      {"ingress: {controllerClassName: c, hostSuffix: My_S}", "ingress.hostSuffix"},
      {"ingress: {controllerClassName: c, controllerTLSSecretName: A_}", "ingress.controllerTLSSecretName"},
      {"ingress: {controllerClassName: c, hostSuffix: example.com, controllerTLSSecretName: a}", ""},
      {"ingress: {hostSuffix: My_S, controllerTLSSecretName: A_}", ""},
      {"checkpoint: {enabled: true, storage: {pvc: {pvcName: A_b}}}", "checkpoint.storage.pvc.pvcName"},
      {"checkpoint: {storage: {pvc: {pvcName: A_b}}}", ""},
  };
  for (const auto& [yaml, field] : table) {
    CAPTURE(yaml);
    const LoadResult result = loadConfigText(yaml, "c.yaml", Purpose::Offline);
    CHECK(result.ok());
    REQUIRE(result.warnings.size() == (field.empty() ? 0U : 1U));
    if (!field.empty()) CHECK(result.warnings[0].field.text() == field);
  }
}

}  // namespace dynamo::config
