#pragma once
// Validation of a configuration: the reference's rules with the changes in common/decisions.md.

#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"

namespace dynamo::config {

/// The program that reads the configuration. A field is required only if the program needs it.
enum class Purpose {
  Offline,     ///< commands on files; no field is required
  Check,       ///< checks of the file itself; fields that only the controller requires are warnings
  Webhook,     ///< reads certificate and configuration from files; no field is required
  Controller,  ///< creates certificates (service name) and RoleBindings (rbac), creates SSH keys (mpi)
};

/// Rule id of settings that only the controller requires.
inline constexpr const char* kControllerRule = "config-controller";

/// Whether `text` is "namespace/name" with both parts present.
bool isNamespacedName(std::string_view text);

/// The error of the flag --operator-version (cfg-Q4), which includes the flag name; empty if valid.
std::string operatorVersionProblem(std::string_view version);

/// A listen address without the brackets of an IPv6 address: the reference requires them in some fields only
/// (cfg-Q14).
std::string_view withoutBrackets(std::string_view address);

/// All errors of a configuration with defaults, sorted by path.
std::vector<field::FieldError> validateConfig(const OperatorConfig& config, Purpose purpose);

/// Settings with which the API server rejects the default Ingress of frontends. They are warnings, because
/// the other children of a graph are still created.
std::vector<field::Warning> ingressWarnings(const IngressConfig& ingress);

/// Settings that are accepted but have no effect or cannot work.
std::vector<field::Warning> configWarnings(const OperatorConfig& config);

}  // namespace dynamo::config
