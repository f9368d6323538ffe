#pragma once
// Reads kubeconfig files: clusters, users and contexts.

#include <string>
#include <variant>
#include <vector>

#include "controller/kube/exec_plugin.h"
#include "controller/kube/rest_config.h"

namespace dynamo::kube {

struct KubeconfigFile {
  std::string path;  ///< paths in the file are relative to its folder
  std::string text;  ///< YAML or JSON
};

/// Returns the configuration of a context, or of the current context if `context` is empty. If several files
/// contain an entry, the first file takes precedence, as in kubectl. Files that the entries refer to are
/// read, so that errors are reported at startup. Without `runner`, a user with `exec` is an error. An error
/// message has the form "FILE: FIELD: MESSAGE".
///
/// Supported fields of a cluster: `server` (https), `tls-server-name`, `insecure-skip-tls-verify`,
/// `certificate-authority(-data)`.
/// Supported fields of a user: `token`, `tokenFile`, `client-certificate(-data)`, `client-key(-data)`,
/// `exec`, `as`, `as-groups`, `as-uid`, `as-user-extra`. Rejected fields: `proxy-url`, `username`,
/// `password`, `auth-provider`.
std::variant<RestConfig, std::string> readKubeconfig(const std::vector<KubeconfigFile>& files,
                                                     const std::string& context,
                                                     const ExecRunner& runner = {});

}  // namespace dynamo::kube
