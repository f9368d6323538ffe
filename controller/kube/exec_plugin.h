#pragma once
// Credential plugins of kubeconfig files. This library starts no program: a client that supports them gives a
// function that runs them.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/k8s/timestamp.h"

namespace dynamo::kube {

/// The cluster information that a plugin receives if `provideClusterInfo` is true.
struct ExecCluster {
  std::string server;
  std::string tlsServerName;
  bool insecure = false;
  std::string authorities;  ///< PEM
};

/// `users[].user.exec` of a kubeconfig file.
struct ExecPlugin {
  std::string apiVersion;  ///< "client.authentication.k8s.io/v1" or ".../v1beta1"
  std::string command;     ///< a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the environment of the process
  std::string installHint;  ///< appended to the error message if the command does not exist
  std::optional<ExecCluster> cluster;
};

/// The credential that a plugin returned: a token, a certificate with its key, or both.
struct ExecCredential {
  std::string token;
  std::string certificate;  ///< PEM
  std::string key;          ///< PEM
  std::optional<k8s::Timestamp> expires;
};

/// Runs a plugin and returns its credential, or an error without secrets. It blocks, and may be called on any
/// thread.
using ExecRunner = std::function<std::variant<ExecCredential, std::string>(const ExecPlugin&)>;

}  // namespace dynamo::kube
