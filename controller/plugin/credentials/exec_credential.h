#pragma once
// The input and output of credential plugins: ExecCredential of client.authentication.k8s.io.

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "controller/kube/exec_plugin.h"

namespace dynamo::plugin {

/// Returns the value of KUBERNETES_EXEC_INFO.
std::string execInfo(const std::string& apiVersion, const std::optional<kube::ExecCluster>& cluster);

/// Parses the standard output of a plugin. The error message contains the field path and never quotes the
/// output.
std::variant<kube::ExecCredential, std::string> readExecCredential(std::string_view output,
                                                                   std::string_view apiVersion);

}  // namespace dynamo::plugin
