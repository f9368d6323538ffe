#pragma once
// The flags --kubeconfig and --context, and the client of the API server that they select.

#include <memory>
#include <string>
#include <variant>

#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/kube/client_metrics.h"
#include "controller/kube/client_options.h"
#include "controller/kube/rest_config.h"

namespace CLI {
class App;
}

namespace dynamo::controller {

/// Adds --kubeconfig and --context to a command. The help texts depend on `flags.homeFirst`. `flags` must
/// outlive the command.
void addClusterFlags(CLI::App& command, kube::RestConfigFlags& flags);

/// A client, and the namespace of the kubeconfig context or of the pod.
struct Cluster {
  std::unique_ptr<kube::Client> client;
  std::string namespaceName;
};

/// Creates a client from the flags, the environment or the pod; see kube::loadRestConfig. Sends no request.
/// The loop must outlive the client. `metrics` may be null; otherwise it must outlive the client, too. The
/// error is one line without secrets.
std::variant<Cluster, std::string> makeCluster(runtime::EventLoop& loop, const kube::RestConfigFlags& flags,
                                               kube::ClientMetrics* metrics = nullptr,
                                               kube::ClientOptions options = {});

}  // namespace dynamo::controller
