#pragma once
// The input and output of credential plugins: ExecCredential of client.authentication.k8s.io.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/k8s/timestamp.h"

namespace dynamo::kube {

/// `users[].user.exec` of a kubeconfig file.
struct ExecPlugin {
  std::string apiVersion;  ///< "client.authentication.k8s.io/v1" or ".../v1beta1"
  std::string command;     ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the environment of the process
  std::string installHint;  ///< appended to the error message if the command does not exist
  std::string info;         ///< KUBERNETES_EXEC_INFO
};

/// The credential that a plugin returned: a token, a certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
  std::optional<k8s::Timestamp> expires;
};

/// The cluster information that a plugin receives if `provideClusterInfo` is true.
struct ExecCluster {
  std::string server;
  std::string tlsServerName;
  bool insecure = false;
  std::string authorities;  ///< PEM
};

/// Returns the value of KUBERNETES_EXEC_INFO.
std::string execInfo(const std::string& apiVersion, const std::optional<ExecCluster>& cluster);

/// Parses the standard output of a plugin. The error message contains the field path and never quotes the
/// output.
std::variant<ExecCredential, std::string> readExecCredential(std::string_view output,
                                                             std::string_view apiVersion);

/// Decodes standard base64 with padding and ignores line breaks. Returns nullopt if the text is not base64.
std::optional<std::string> decodeBase64(std::string_view text);
std::string encodeBase64(std::string_view bytes);

}  // namespace dynamo::kube
