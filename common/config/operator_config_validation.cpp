#include "common/config/operator_config_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/config/listeners.h"
#include "common/config/url.h"
#include "common/k8s/names.h"
#include "common/k8s/semver.h"

namespace dynamo::config {
namespace {

using namespace std::chrono_literals;
using field::ErrorType;
using field::FieldError;

struct RuleInput {
  const OperatorConfig& config;
  Purpose purpose;

  bool controller() const { return purpose == Purpose::Controller || purpose == Purpose::Check; }
  bool clusterWideController() const { return controller() && !config.restricted(); }
  bool checkpointOn(std::string_view type) const {
    return config.checkpoint.enabled && config.checkpoint.storageType == type;
  }
};

constexpr const char* kValueRule = "config-value";

// A field that is required when `needed` returns true.
struct RequiredRule {
  field::Members path;
  bool (*needed)(const RuleInput&);
  const std::string& (*value)(const OperatorConfig&);
  std::string_view detail;
  const char* rule = kValueRule;
};

constexpr std::string_view kRoleDetail =
    "the controller binds this ClusterRole unless namespace.restricted is set";

using C = const RuleInput&;
using O = const OperatorConfig&;
using S = const std::string&;

constexpr RequiredRule kRequired[] = {
    {"leaderElection.id", [](C c) { return c.config.leaderElection.enabled; },
     [](O o) -> S { return o.leaderElection.id; }, "leader election is enabled"},
    {"server.webhook.serviceName", [](C c) { return c.controller(); },
     [](O o) -> S { return o.server.webhook.serviceName; },
     "the webhook certificate and the conversion of the CRDs refer to this Service", kControllerRule},
    {"mpi.sshSecretName", [](C c) { return c.controller(); }, [](O o) -> S { return o.mpi.sshSecretName; },
     "the controller creates this Secret for multinode TensorRT-LLM components", kControllerRule},
    {"rbac.plannerClusterRoleName", [](C c) { return c.clusterWideController(); },
     [](O o) -> S { return o.rbac.plannerClusterRoleName; }, kRoleDetail, kControllerRule},
    {"rbac.dgdrProfilingClusterRoleName", [](C c) { return c.clusterWideController(); },
     [](O o) -> S { return o.rbac.dgdrProfilingClusterRoleName; }, kRoleDetail, kControllerRule},
    {"rbac.eppClusterRoleName", [](C c) { return c.clusterWideController(); },
     [](O o) -> S { return o.rbac.eppClusterRoleName; }, kRoleDetail, kControllerRule},
    {"checkpoint.storage.s3.uri", [](C c) { return c.checkpointOn("s3"); },
     [](O o) -> S { return o.checkpoint.s3.uri; }, "the storage type is s3"},
    {"checkpoint.storage.oci.uri", [](C c) { return c.checkpointOn("oci"); },
     [](O o) -> S { return o.checkpoint.oci.uri; }, "the storage type is oci"},
};

// A field with a set of supported values, validated when `checked` returns true.
struct ChoiceRule {
  field::Members path;
  const std::string& (*value)(const OperatorConfig&);
  std::array<std::string_view, 3> choices;  ///< unused ones are empty
  bool (*checked)(const OperatorConfig&);
};

constexpr bool always(O) {
  return true;
}

constexpr ChoiceRule kChoices[] = {
    {"server.webhook.certProvisionMode",
     [](O o) -> S { return o.server.webhook.certProvisionMode; },
     {"auto", "manual"},
     always},
    {"server.webhook.tlsMinVersion",
     [](O o) -> S { return o.server.webhook.tlsMinVersion; },
     {"1.3", "1.2"},
     always},
    {"discovery.backend", [](O o) -> S { return o.discoveryBackend; }, {"kubernetes", "etcd"}, always},
    {"checkpoint.storage.type",
     [](O o) -> S { return o.checkpoint.storageType; },
     {"pvc", "s3", "oci"},
     [](O o) { return o.checkpoint.enabled; }},
    {"validation.mode", [](O o) -> S { return o.validationMode; }, {"strict", "warn"}, always},
};

// A number with bounds.
struct RangeRule {
  field::Members path;
  std::int64_t (*value)(const OperatorConfig&);
  std::int64_t lowest;
  std::int64_t highest;
};

constexpr std::int64_t kMinInFlightBytes = std::int64_t{8}
                                           << 20U;  // enough for a list of 500 requests of 16 KiB
constexpr std::int64_t kMaxInFlightBytes = std::int64_t{64} << 30U;

constexpr RangeRule kRanges[] = {
    {"server.metrics.port", [](O o) -> std::int64_t { return o.server.metrics.port; }, 0, 65535},
    {"server.healthProbe.port", [](O o) -> std::int64_t { return o.server.healthProbe.port; }, 0, 65535},
    {"server.webhook.port", [](O o) -> std::int64_t { return o.server.webhook.port; }, 0, 65535},
    {"server.webhook.threads", [](O o) -> std::int64_t { return o.server.webhook.threads; }, 0, 256},
    {"server.webhook.maxConnections", [](O o) -> std::int64_t { return o.server.webhook.maxConnections; }, 1,
     1'000'000},
    {"server.webhook.maxInFlightBytes", [](O o) { return o.server.webhook.maxInFlightBytes; },
     kMinInFlightBytes, kMaxInFlightBytes},
};

// An address to listen on.
struct AddressRule {
  field::Members path;
  const std::string& (*value)(const OperatorConfig&);
};

constexpr AddressRule kAddresses[] = {
    {"server.metrics.bindAddress", [](O o) -> S { return o.server.metrics.bindAddress; }},
    {"server.healthProbe.bindAddress", [](O o) -> S { return o.server.healthProbe.bindAddress; }},
    {"server.webhook.host", [](O o) -> S { return o.server.webhook.host; }},
};

/// Whether `name` can be a host name. Names with "_" are accepted, because resolvers accept them.
bool isHostName(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  const bool numeric =
      name.find_last_not_of("0123456789") == name.rfind('.');  // probably a mistyped IP address
  std::string plain = k8s::lowerAscii(name);
  std::replace(plain.begin(), plain.end(), '_', 'a');
  return !numeric && k8s::dns1123SubdomainProblem(plain).empty();
}

bool isListenAddress(std::string_view address) {
  if (address.empty()) return true;
  address = withoutBrackets(address);
  if (address.find(':') == std::string_view::npos) return k8s::isIpAddress(address) || isHostName(address);
  return k8s::isIpAddress(address.substr(0, address.find('%')));  // fe80::1%eth0
}

// A duration that is invalid when `broken` returns true.
struct DurationRule {
  field::Members path;
  k8s::Duration (*value)(const OperatorConfig&);
  bool (*broken)(const OperatorConfig&);
  std::string_view detail;
};

constexpr DurationRule kDurations[] = {
    {"namespace.scope.leaseDuration", [](O o) { return o.namespaces.scope.leaseDuration; },
     [](O o) { return o.restricted() && o.namespaces.scope.leaseDuration < 1s; },
     "must be at least 1s, because a Lease counts whole seconds"},
    {"namespace.scope.leaseRenewInterval", [](O o) { return o.namespaces.scope.leaseRenewInterval; },
     [](O o) { return o.restricted() && o.namespaces.scope.leaseRenewInterval <= 0s; },
     "must be greater than 0"},
    {"namespace.scope.leaseRenewInterval", [](O o) { return o.namespaces.scope.leaseRenewInterval; },
     [](O o) {
       const NamespaceScopeConfig& scope = o.namespaces.scope;
       return o.restricted() && scope.leaseDuration > 0s && scope.leaseRenewInterval > 0s &&
              scope.leaseRenewInterval >= scope.leaseDuration;
     },
     "must be less than leaseDuration"},
    {"orchestrators.grove.terminationDelay", [](O o) { return o.orchestrators.grove.terminationDelay; },
     [](O o) { return o.orchestrators.grove.terminationDelay < 0s; }, "must not be negative"},
    {"server.webhook.shutdownDelay", [](O o) { return o.server.webhook.shutdownDelay.value_or(0s); },
     [](O o) { return o.server.webhook.shutdownDelay.value_or(0s) < 0s; }, "must not be negative"},
};

void add(std::vector<FieldError>& errors, ErrorType type, field::Path path, std::string shown,
         std::string detail, const char* rule = kValueRule) {
  errors.push_back({type, std::move(path), std::move(shown), std::move(detail), rule});
}

void checkTables(const RuleInput& input, std::vector<FieldError>& errors) {
  const OperatorConfig& config = input.config;
  for (const RequiredRule& rule : kRequired) {
    if (!rule.needed(input) || !rule.value(config).empty()) continue;
    add(errors, ErrorType::Required, rule.path, {}, std::string{rule.detail}, rule.rule);
  }
  for (const ChoiceRule& rule : kChoices) {
    const std::string& value = rule.value(config);
    if (!rule.checked(config)) continue;
    if (!value.empty() && std::find(rule.choices.begin(), rule.choices.end(), value) != rule.choices.end()) {
      continue;
    }
    std::string allowed;
    for (const std::string_view choice : rule.choices) {
      if (!choice.empty()) allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : ", ", choice);
    }
    add(errors, ErrorType::NotSupported, rule.path, field::showValue(value), "supported values: " + allowed);
  }
  for (const RangeRule& rule : kRanges) {
    const std::int64_t value = rule.value(config);
    if (value >= rule.lowest && value <= rule.highest) continue;
    add(errors, ErrorType::Invalid, rule.path, std::to_string(value),
        fmt::format("must be between {} and {}, inclusive", rule.lowest, rule.highest));
  }
  for (const AddressRule& rule : kAddresses) {
    const std::string& value = rule.value(config);
    if (isListenAddress(value)) continue;
    add(errors, ErrorType::Invalid, rule.path, field::showValue(value),
        "must be an IP address or a host name");
  }
  for (const DurationRule& rule : kDurations) {
    if (!rule.broken(config)) continue;
    add(errors, ErrorType::Invalid, rule.path, field::showValue(k8s::formatDuration(rule.value(config))),
        std::string{rule.detail});
  }
}

void checkTexts(const OperatorConfig& config, std::vector<FieldError>& errors) {
  if (const auto problem = urlProblem(config.infrastructure.modelExpressUrl)) {
    // The value is not shown, because a URL may contain a password.
    add(errors, ErrorType::Invalid, field::Path{"infrastructure.modelExpressURL"}, {}, *problem);
  }
  for (std::size_t i = 0; i < config.scalingAllowedServiceAccounts.size(); ++i) {
    const std::string& account = config.scalingAllowedServiceAccounts[i];
    if (isNamespacedName(account)) continue;
    add(errors, ErrorType::Invalid, field::Path{"scaling.allowedServiceAccounts"}[i],
        field::showValue(account), "must be a service account in the form namespace/name");
  }
  // The API server refuses Jobs with such an image, and no registry has one.
  if (config.outputCopierImage.find_first_of(" \t\r\n") != std::string::npos) {
    add(errors, ErrorType::Invalid, field::Path{"requests.outputCopierImage"},
        field::showValue(config.outputCopierImage), "must not have white space");
  }
  for (std::size_t i = 0; i < config.outputCopierCommand.size(); ++i) {
    if (config.outputCopierCommand[i].empty())
      add(errors, ErrorType::Invalid, field::Path{"requests.outputCopierCommand"}[i], "\"\"",
          "must not be empty");
  }
  for (std::size_t i = 0; i < config.gpuExporterNamespaces.value_or(std::vector<std::string>{}).size(); ++i) {
    const std::string& name = (*config.gpuExporterNamespaces)[i];
    const std::string problem = k8s::dns1123LabelProblem(name);
    if (problem.empty()) continue;
    add(errors, ErrorType::Invalid, field::Path{"gpu.exporterNamespaces"}[i], field::showValue(name),
        problem);
  }
  for (std::size_t i = 0; i < config.namespaces.excludedNameSubstrings.size(); ++i) {
    if (!config.namespaces.excludedNameSubstrings[i].empty()) continue;
    add(errors, ErrorType::Invalid, field::Path{"namespace.excludedNameSubstrings"}[i], "\"\"",
        "would exclude every namespace");
  }
}

}  // namespace

bool isNamespacedName(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string_view::npos;
}

std::string operatorVersionProblem(std::string_view version) {
  if (k8s::parseVersion(version)) return {};
  return fmt::format("--operator-version: Invalid value: {}: must be a version such as 1.0.0",
                     field::showValue(version));
}

std::string_view withoutBrackets(std::string_view address) {
  if (!address.starts_with('[') || !address.ends_with(']')) return address;
  return address.substr(1, address.size() - 2);
}

std::vector<FieldError> validateConfig(const OperatorConfig& config, Purpose purpose) {
  field::Findings findings;
  checkTables({config, purpose}, findings.errors);
  checkTexts(config, findings.errors);
  // The webhook checks its listeners itself, because its flags take precedence over the file.
  if (purpose != Purpose::Webhook) {
    for (FieldError& error : listenersInConflict(listenersOf(config))) findings.error(std::move(error));
  }
  findings.sort();
  return std::move(findings.errors);
}

}  // namespace dynamo::config
