#pragma once
// OperatorConfiguration (operator.config.dynamo.nvidia.com/v1alpha1). Fields that this implementation adds to
// the reference's are marked "ours".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/duration.h"

namespace dynamo::config {

struct ListenerConfig {
  std::string bindAddress;
  std::int32_t port = 0;
};

struct MetricsConfig : ListenerConfig {
  bool secure = true;
};

struct WebhookServerConfig {
  std::string host;
  std::string bindAddress;  ///< accepted for compatibility and ignored; `host` is used (cfg-Q2)
  std::int32_t port = 0;
  std::string certDir;
  std::string certProvisionMode;  ///< "auto" or "manual"
  std::string secretName;
  std::string serviceName;
  // Ours.
  std::string tlsMinVersion;  ///< "1.3" or "1.2"
  std::int32_t threads = 0;   ///< 0: one per core
  /// How long to serve requests after readiness turns false; may be 0.
  std::optional<k8s::Duration> shutdownDelay;
  std::int32_t maxConnections = 0;
  std::string clientCaFile;              ///< `clientCAFile`; empty: no client certificate is required
  std::vector<std::string> clientNames;  ///< accepted names of client certificates; empty: any
  std::int64_t maxInFlightBytes = 0;     ///< limit for ConversionReviews in memory; a larger one is rejected
};

struct ServerConfig {
  MetricsConfig metrics;
  ListenerConfig healthProbe;
  WebhookServerConfig webhook;
};

struct LeaderElectionConfig {
  bool enabled = false;
  std::string id;
  std::string namespaceName;  ///< `namespace`; empty: the namespace of the pod
};

struct NamespaceScopeConfig {
  k8s::Duration leaseDuration{0};
  k8s::Duration leaseRenewInterval{0};
  /// Ours (scope-S14): marker Leases count only in namespaces with these labels; empty: in all namespaces.
  std::map<std::string, std::string> leaseNamespaceLabels;
};

struct NamespaceConfig {
  std::string restricted;  ///< empty: cluster-wide
  NamespaceScopeConfig scope;
  /// Ours (scope-S5): namespaces whose name contains one of these strings are ignored.
  std::vector<std::string> excludedNameSubstrings;
};

struct GroveConfig {
  std::optional<bool> enabled;  ///< absent: detect the API
  k8s::Duration terminationDelay{0};
};

struct OrchestratorsConfig {
  GroveConfig grove;
  std::optional<bool> lwsEnabled;
  std::optional<bool> kaiSchedulerEnabled;
};

struct InfrastructureConfig {
  std::string natsAddress;
  std::string etcdAddress;
  std::string modelExpressUrl;
  std::string prometheusEndpoint;
};

struct IngressConfig {
  std::string virtualServiceGateway;
  std::string controllerClassName;
  std::string controllerTlsSecretName;
  std::string hostSuffix;
};

struct RbacConfig {
  std::string plannerClusterRoleName;
  std::string dgdrProfilingClusterRoleName;
  std::string eppClusterRoleName;
};

struct MpiConfig {
  std::string sshSecretName;
  std::string sshSecretNamespace;
};

struct ObjectStoreConfig {
  std::string uri;
  std::string credentialsSecretRef;
};

struct CheckpointConfig {
  bool enabled = false;
  std::string readyForCheckpointFilePath;
  std::string storageType;  ///< "pvc", "s3" or "oci"
  std::string pvcName;
  std::string pvcBasePath;
  ObjectStoreConfig s3;
  ObjectStoreConfig oci;
};

struct LoggingConfig {
  std::string level;    ///< "debug", "info", "warn" or "error"
  std::string format;   ///< "json" or "text"
  bool denials = true;  ///< ours: whether the webhook logs denied requests
};

struct OperatorConfig {
  ServerConfig server;
  LeaderElectionConfig leaderElection;
  NamespaceConfig namespaces;  ///< `namespace`
  OrchestratorsConfig orchestrators;
  InfrastructureConfig infrastructure;
  IngressConfig ingress;
  RbacConfig rbac;
  MpiConfig mpi;
  CheckpointConfig checkpoint;
  std::string discoveryBackend;  ///< "kubernetes" or "etcd"
  bool gpuDiscoveryEnabled = true;
  LoggingConfig logging;
  bool enableHttp2 = false;  ///< accepted without effect; this implementation serves HTTP/1.1 only

  // Ours.
  /// Overlay over the built-in defaults: a JSON object, or nullptr. Shared, because documents cannot be
  /// copied.
  std::shared_ptr<const json::Document> defaults;
  std::string validationMode;             ///< "strict", or "warn": errors become warnings
  bool compatibilityAutoscaling = false;  ///< `autoscaling` of services has an effect (dec-3)
  bool allowOtherNamespaces = false;  ///< `requests`: a DGDR may create its deployment in another namespace
  /// `requests` (life-Q35): the command of the container, which gets --request and --namespace. Empty: a
  /// script.
  std::vector<std::string> outputCopierCommand;
  std::string outputCopierImage;  ///< `requests` (life-Q11): image of the container that stores the results
  /// `scaling` (adm-Q9): service accounts ("namespace/name") that may change replicas owned by a scaling
  /// adapter. `planner-serviceaccount` of the object's own namespace may always.
  std::vector<std::string> scalingAllowedServiceAccounts;
  /// `gpu` (life-Q40): the namespaces whose DCGM exporters are asked; absent: exporterNamespaces().
  std::optional<std::vector<std::string>> gpuExporterNamespaces;

  bool restricted() const { return !namespaces.restricted.empty(); }
  /// Whether GPU discovery runs. The webhook then admits requests without hardware.
  bool discoversGpus() const { return gpuDiscoveryEnabled || !restricted(); }
  /// Whether a DGDR may create its graph in another namespace. A restricted operator has rights in one.
  bool graphMayBeElsewhere() const { return allowOtherNamespaces && !restricted(); }
  bool warnOnly() const { return validationMode == "warn"; }
};

/// Sets each field that is empty, 0 or absent to its default. Defaults of booleans are the initializers
/// above.
void applyConfigDefaults(OperatorConfig& config);

/// The namespaces whose DCGM exporters are asked. By default that of NVIDIA's GPU operator, and `own`, that
/// of this operator, unless it is empty.
std::vector<std::string> exporterNamespaces(const OperatorConfig& config, std::string_view own);

/// The configuration that is used without a file.
OperatorConfig defaultConfig();

}  // namespace dynamo::config
