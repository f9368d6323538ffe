// Warnings about settings that are accepted.

#include <fmt/format.h>

#include <algorithm>

#include "common/config/operator_config_validation.h"
#include "common/k8s/names.h"

namespace dynamo::config {
namespace {

constexpr const char* kRule = "config-value";

using O = const OperatorConfig&;
using S = const std::string&;

// A field that names an object of the cluster.
struct NameRule {
  field::Members path;
  const std::string& (*value)(const OperatorConfig&);
  std::string_view what;
  std::string (*problem)(std::string_view);
};

constexpr NameRule kNames[] = {
    {"server.webhook.secretName", [](O o) -> S { return o.server.webhook.secretName; }, "Secret",
     k8s::dns1123SubdomainProblem},
    {"server.webhook.serviceName", [](O o) -> S { return o.server.webhook.serviceName; }, "Service",
     k8s::dns1123LabelProblem},
    {"leaderElection.id", [](O o) -> S { return o.leaderElection.id; }, "Lease",
     k8s::dns1123SubdomainProblem},
    {"leaderElection.namespace", [](O o) -> S { return o.leaderElection.namespaceName; }, "namespace",
     k8s::dns1123LabelProblem},
    {"namespace.restricted", [](O o) -> S { return o.namespaces.restricted; }, "namespace",
     k8s::dns1123LabelProblem},
    {"mpi.sshSecretName", [](O o) -> S { return o.mpi.sshSecretName; }, "Secret",
     k8s::dns1123SubdomainProblem},
    {"checkpoint.storage.s3.credentialsSecretRef",
     [](O o) -> S { return o.checkpoint.s3.credentialsSecretRef; }, "Secret", k8s::dns1123SubdomainProblem},
    {"checkpoint.storage.oci.credentialsSecretRef",
     [](O o) -> S { return o.checkpoint.oci.credentialsSecretRef; }, "Secret", k8s::dns1123SubdomainProblem},
};

/// Invalid names are warnings, because the reference accepts any text and may never use the name.
void nameWarnings(const OperatorConfig& config, std::vector<field::Warning>& warnings) {
  for (const NameRule& rule : kNames) {
    const std::string& value = rule.value(config);
    if (value.empty() || rule.problem(value).empty()) continue;
    warnings.push_back(
        {rule.path, fmt::format("{} is not a valid {} name", field::showValue(value), rule.what), kRule});
  }
}

bool isOneOf(std::string_view value, std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

}  // namespace

std::vector<field::Warning> ingressWarnings(const IngressConfig& ingress) {
  std::vector<field::Warning> warnings;
  if (ingress.controllerClassName.empty()) return warnings;  // no default Ingress is created
  const auto check = [&](field::Members path, const std::string& problem) {
    if (problem.empty()) return;
    warnings.push_back({path, "the API server rejects every default Ingress: " + problem, kRule});
  };
  check("ingress.controllerClassName", k8s::dns1123SubdomainProblem(ingress.controllerClassName));
  if (!ingress.controllerTlsSecretName.empty()) {
    check("ingress.controllerTLSSecretName", k8s::dns1123SubdomainProblem(ingress.controllerTlsSecretName));
  }
  if (!ingress.hostSuffix.empty()) {
    check("ingress.hostSuffix", k8s::hostProblem("graph." + ingress.hostSuffix));
  }
  return warnings;
}

std::vector<field::Warning> configWarnings(const OperatorConfig& config) {
  std::vector<field::Warning> warnings = ingressWarnings(config.ingress);
  nameWarnings(config, warnings);
  const auto warn = [&](field::Members path, std::string text) {
    warnings.push_back({path, std::move(text), kRule});
  };
  if (!config.server.webhook.bindAddress.empty()) {
    warn("server.webhook.bindAddress", "has no effect; the listener uses server.webhook.host");
  }
  if (!config.mpi.sshSecretNamespace.empty()) {
    warn("mpi.sshSecretNamespace", "has no effect; each namespace has an SSH key of its own");
  }
  const CheckpointConfig& checkpoint = config.checkpoint;
  if (checkpoint.enabled && checkpoint.storageType == "pvc" &&
      !k8s::dns1123SubdomainProblem(checkpoint.pvcName).empty()) {
    warn("checkpoint.storage.pvc.pvcName",
         "is not a valid PersistentVolumeClaim name; every checkpoint is rejected");
  }
  if (config.enableHttp2) warn("security.enableHTTP2", "has no effect; only HTTP/1.1 is served");
  // Warnings only: the reference ignores unknown values, and an old file must not stop the operator.
  if (!isOneOf(config.logging.level, {"debug", "info", "warn", "error"})) {
    warn("logging.level", "unknown level, \"info\" is used; supported: debug, info, warn, error");
  }
  if (!isOneOf(config.logging.format, {"json", "text"})) {
    warn("logging.format", "unknown format, \"json\" is used; supported: json, text");
  }
  return warnings;
}

}  // namespace dynamo::config
