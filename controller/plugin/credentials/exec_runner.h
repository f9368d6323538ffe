#pragma once
// Runs the credential plugins of kubeconfig files.

#include <chrono>
#include <string>
#include <variant>

#include "controller/kube/exec_plugin.h"

namespace dynamo::plugin {

/// The timeout of a plugin. A plugin may call a cloud API. kubectl has no such limit because a user can
/// interrupt it.
inline constexpr std::chrono::seconds kExecTime{60};

/// Runs the plugin once and returns its credential. The error names the plugin and never quotes its output.
/// Blocks until the plugin ends or kExecTime has passed.
std::variant<kube::ExecCredential, std::string> runExecPlugin(const kube::ExecPlugin& plugin);

}  // namespace dynamo::plugin
