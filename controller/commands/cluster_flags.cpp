#include "controller/commands/cluster_flags.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "common/field/finding.h"

namespace dynamo::controller {

void addClusterFlags(CLI::App& command, kube::RestConfigFlags& flags) {
  const char* about =
      flags.homeFirst ? "kubeconfig file; by default those of KUBECONFIG, then ~/.kube/config, then the "
                        "service account of the pod"
                      : "kubeconfig file; by default those of KUBECONFIG, then the service account of the "
                        "pod, then ~/.kube/config";
  command.add_option("--kubeconfig", flags.kubeconfig, about);
  command.add_option("--context", flags.context, "kubeconfig context; by default the current one");
}

std::variant<Cluster, std::string> makeCluster(runtime::EventLoop& loop, const kube::RestConfigFlags& flags,
                                               kube::ClientMetrics* metrics, kube::ClientOptions options) {
  auto config = kube::loadRestConfig(flags);
  if (const auto* error = std::get_if<std::string>(&config)) return field::oneLine(*error);
  Cluster cluster;
  cluster.namespaceName = std::get<kube::RestConfig>(config).namespaceName;
  cluster.client = std::make_unique<kube::Client>(loop, std::get<kube::RestConfig>(std::move(config)),
                                                  metrics, std::move(options));
  return cluster;
}

}  // namespace dynamo::controller
