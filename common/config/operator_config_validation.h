#pragma once
// The rules of a configuration: the reference's, and what common/decisions.md changes of them.

#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"

namespace dynamo::config {

/// Which program reads the configuration: a field is required only where something needs it.
enum class Purpose {
  Offline,     ///< file commands: nothing is required
  Check,       ///< the file itself is checked: what the controller requires is told as a warning
  Webhook,     ///< certificate and configuration come as files: nothing is required either
  Controller,  ///< makes certificates (service name), RoleBindings (rbac) and copies the SSH key (mpi)
};

/// The rule of settings that only the controller requires.
inline constexpr const char* kControllerRule = "config-controller";

/// "namespace/name", both given, nothing else.
bool isNamespacedName(std::string_view text);

/// What is wrong with the value of --operator-version (cfg-Q4), naming the flag; empty when nothing is.
std::string operatorVersionProblem(std::string_view version);

/// An address to listen on: the reference wants IPv6 in brackets in some fields, and not in others (cfg-Q14).
std::string_view withoutBrackets(std::string_view address);

/// All errors of a configuration after applyDefaults(), sorted by path.
std::vector<field::FieldError> validateConfig(const OperatorConfig& config, Purpose purpose);

/// What makes the Ingress of every frontend that has none of its own one that the API server refuses. Never
/// an error: the rest of a graph runs.
std::vector<field::Warning> ingressWarnings(const IngressConfig& ingress);

/// Settings that are accepted but do not do what one may expect.
std::vector<field::Warning> configWarnings(const OperatorConfig& config);

}  // namespace dynamo::config
