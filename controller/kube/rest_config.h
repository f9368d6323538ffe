#pragma once
// The configuration of a client, from kubeconfig files or from the service account of a pod.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/endpoint.h"
#include "controller/kube/credentials.h"
#include "controller/kube/text_source.h"

namespace dynamo::kube {

struct RestConfig {
  runtime::Endpoint server;
  std::string basePath;    ///< prefix of every path: "" or "/k8s/clusters/a"
  std::string serverName;  ///< the name that the server certificate must contain
  TextSource authorities;  ///< CA certificates in PEM; if not given, those of the system are used
  bool verify = true;
  std::shared_ptr<Credentials> credentials;
  std::string namespaceName = "default";  ///< the namespace of the context or of the pod
};

/// Returns the value of an environment variable, or an empty text if it is not set.
using Environment = std::function<std::string(const std::string& name)>;
Environment processEnvironment();

struct RestConfigFlags {
  std::string kubeconfig;      ///< --kubeconfig
  std::string context;         ///< --context; empty: the current context
  ExecRunner execRunner = {};  ///< empty: credential plugins are not supported
  bool homeFirst = false;      ///< ~/.kube/config is preferred to the service account, as in kubectl
};

/// Loads the configuration. The order of precedence is that of controller-runtime: the file of the flag, the
/// files of KUBECONFIG, the service account of the pod, ~/.kube/config. With `homeFirst`, it is that of
/// kubectl: the last two are swapped. The error message contains the file and the field path, and never
/// quotes a secret.
std::variant<RestConfig, std::string> loadRestConfig(const RestConfigFlags& flags,
                                                     const Environment& environment = processEnvironment());

inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Returns the configuration of a pod from KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT and from the
/// files of the service account, which are read again when they change.
std::variant<RestConfig, std::string> inClusterConfig(const Environment& environment,
                                                      std::string_view folder = kServiceAccountFolder);

struct ServerUrl {
  runtime::Endpoint endpoint;
  std::string path;  ///< without a trailing slash
};

/// Parses a URL such as "https://host:6443/path". The default port is 443. The error message does not quote
/// the URL.
std::variant<ServerUrl, std::string> parseServerUrl(std::string_view text);

}  // namespace dynamo::kube
