#pragma once
// OperatorConfiguration (operator.config.dynamo.nvidia.com/v1alpha1): the reference's fields, and those that
// this implementation adds, which are marked "ours".

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
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
  std::string bindAddress;  ///< accepted for compatibility, `host` is used (cfg-Q2)
  std::int32_t port = 0;
  std::string certDir;
  std::string certProvisionMode;  ///< "auto" or "manual"
  std::string secretName;
  std::string serviceName;
  // Ours.
  std::string tlsMinVersion;  ///< "1.3" or "1.2"
  std::int32_t threads = 0;   ///< 0: one for each core
  std::optional<k8s::Duration>
      shutdownDelay;  ///< how long to serve on after readiness turned false; 0 allowed
  std::int32_t maxConnections = 0;
  std::string clientCaFile;              ///< `clientCAFile`; empty: admission is for everyone
  std::vector<std::string> clientNames;  ///< that a client certificate may have; empty: any
  std::int64_t maxInFlightBytes = 0;     ///< bytes of ConversionReviews held at once; a longer one is refused
};

struct ServerConfig {
  MetricsConfig metrics;
  ListenerConfig healthProbe;
  WebhookServerConfig webhook;
};

struct LeaderElectionConfig {
  bool enabled = false;
  std::string id;
  std::string namespaceName;  ///< `namespace`; empty: the pod's
};

struct NamespaceScopeConfig {
  k8s::Duration leaseDuration{0};
  k8s::Duration leaseRenewInterval{0};
  /// Ours (scope-S14): marker leases count only in namespaces that carry these labels; empty: everywhere.
  std::map<std::string, std::string> leaseNamespaceLabels;
};

struct NamespaceConfig {
  std::string restricted;  ///< empty: cluster-wide
  NamespaceScopeConfig scope;
  /// Ours (scope-S5): namespaces whose name contains one of these are left alone.
  std::vector<std::string> excludedNameSubstrings;
};

struct GroveConfig {
  std::optional<bool> enabled;  ///< absent: detect
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
  bool denials = true;  ///< ours: whether the webhook logs what it denies
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
  bool enableHttp2 = false;  ///< accepted; this implementation speaks HTTP/1.1 only

  // Ours.
  /// Overlay of the built-in defaults; a JSON object, or nullptr. Shared, because documents do not copy.
  std::shared_ptr<const json::Document> defaults;
  std::string validationMode;             ///< "strict", or "warn": what would be refused is a warning
  bool compatibilityAutoscaling = false;  ///< dec-3; accepted, without effect yet
  bool allowOtherNamespaces = false;  ///< `requests`: a DGDR may create its deployment in another namespace
  /// `scaling` (adm-Q9): service accounts, "namespace/name", that may change replicas owned by a scaling
  /// adapter, besides `planner-serviceaccount` of the object's own namespace.
  std::vector<std::string> scalingAllowedServiceAccounts;

  bool restricted() const { return !namespaces.restricted.empty(); }
  bool warnOnly() const { return validationMode == "warn"; }
};

/// Fills what is zero ("", 0, absent) with its default; those of booleans stand above.
void applyDefaults(OperatorConfig& config);

/// What runs without a configuration file.
OperatorConfig defaultConfig();

}  // namespace dynamo::config
