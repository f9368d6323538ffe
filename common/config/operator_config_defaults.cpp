// Defaults of OperatorConfig.

#include <type_traits>

#include "common/config/operator_config.h"

namespace dynamo::config {
namespace {

using namespace std::chrono_literals;

/// A Service routes to an unready pod until kube-proxy notices (10 s with its slowest common setting). The
/// webhook's pod has a termination grace period of 40 s.
constexpr k8s::Duration kShutdownDelay = 10s;
/// The same values as in webhook/http/limits.h, where the reasons are.
constexpr std::int32_t kMaxConnections = 8192;
constexpr std::int64_t kMaxInFlightBytes = std::int64_t{256} << 20U;

void fill(std::string& field, std::string_view value) {
  if (field.empty()) field = value;
}

template <typename T>
void fill(T& field, T value) {
  static_assert(!std::is_same_v<T, bool>,
                "an explicit false looks like an absent field: give booleans their default in the struct");
  if (field == T{}) field = value;
}

void fillServer(ServerConfig& server) {
  fill(server.metrics.bindAddress, "0.0.0.0");
  fill(server.metrics.port, 8080);
  fill(server.healthProbe.bindAddress, "0.0.0.0");
  fill(server.healthProbe.port, 8081);
  fill(server.webhook.host, "0.0.0.0");
  fill(server.webhook.port, 9443);
  fill(server.webhook.certDir, "/tmp/k8s-webhook-server/serving-certs");
  fill(server.webhook.certProvisionMode, "auto");
  fill(server.webhook.secretName, "webhook-server-cert");
  fill(server.webhook.tlsMinVersion, "1.3");
  if (!server.webhook.shutdownDelay) server.webhook.shutdownDelay = kShutdownDelay;
  fill(server.webhook.maxConnections, kMaxConnections);
  fill(server.webhook.maxInFlightBytes, kMaxInFlightBytes);
}

}  // namespace

void applyConfigDefaults(OperatorConfig& config) {
  fillServer(config.server);
  fill<k8s::Duration>(config.namespaces.scope.leaseDuration, 30s);
  fill<k8s::Duration>(config.namespaces.scope.leaseRenewInterval, 10s);
  fill<k8s::Duration>(config.orchestrators.grove.terminationDelay, 15min);
  fill(config.checkpoint.readyForCheckpointFilePath, "/tmp/ready-for-checkpoint");
  fill(config.checkpoint.storageType, "pvc");
  fill(config.checkpoint.pvcName, "snapshot-pvc");
  fill(config.checkpoint.pvcBasePath, "/checkpoints");
  fill(config.discoveryBackend, "kubernetes");
  fill(config.logging.level, "info");
  fill(config.logging.format, "json");
  fill(config.validationMode, "strict");
  fill(config.outputCopierImage, "bitnami/kubectl:latest");
}

std::vector<std::string> exporterNamespaces(const OperatorConfig& config, std::string_view own) {
  if (config.gpuExporterNamespaces) return *config.gpuExporterNamespaces;
  std::vector<std::string> namespaces{"gpu-operator"};
  if (!own.empty() && own != namespaces.front()) namespaces.emplace_back(own);
  return namespaces;
}

OperatorConfig defaultConfig() {
  OperatorConfig config;
  applyConfigDefaults(config);
  return config;
}

}  // namespace dynamo::config
