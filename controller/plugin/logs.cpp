#include "controller/plugin/logs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <system_error>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

using runtime::Task;

/// The pods whose logs are read.
struct Pods {
  std::string namespaceName;
  std::string selector;
  std::size_t containers = 0;  ///< of all pods
};

std::string selectorOf(const LogsOptions& options) {
  std::string selector = fmt::format("{}={}", api::label::kGraph, options.name);
  if (!options.service.empty()) selector += fmt::format(",{}={}", api::label::kComponent, options.service);
  return selector;
}

std::size_t containersOf(const json::Value& pod) {
  std::size_t count = 0;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::Value* containers = json::find(lifecycle::specOf(pod), list);
    if (containers != nullptr && containers->IsArray()) count += containers->Size();
  }
  return count;
}

/// Finds the pods. Returns the exit status.
Task<int> findPods(Session session, const LogsOptions& options, Pods& pods) {
  const auto graph = co_await readGraph(session, options.name);
  if (const auto* error = std::get_if<std::string>(&graph)) co_return fail(*error);
  if (!options.service.empty()) {
    if (const auto missing = missingService(std::get<json::Document>(graph), options.service))
      co_return fail(*missing);
  }
  pods.namespaceName = session.namespaceName;
  pods.selector = selectorOf(options);
  const kube::Resource& resource = controller::resourceOf("", "Pod");
  kube::ListOptions selected;
  selected.labelSelector = pods.selector;
  const auto listed = co_await listAll(session, resource, selected);
  if (const auto* error = std::get_if<std::string>(&listed)) co_return fail(*error);
  for (const json::Value* pod : std::get<Listed>(listed).pointers) pods.containers += containersOf(*pod);
  if (pods.containers > 0) co_return kDone;
  std::cerr << fmt::format("no pods of {}/{}{}{}\n", session.namespaceName, options.name,
                           options.service.empty() ? "" : ", service ", options.service);
  co_return kNotReady;
}

std::vector<std::string> commandFor(const LogsOptions& options, const Pods& pods) {
  std::vector<std::string> command{"kubectl",
                                   "logs",
                                   "--namespace=" + pods.namespaceName,
                                   "--selector=" + pods.selector,
                                   "--prefix",
                                   "--ignore-errors",  // containers that have not started have no log
                                   fmt::format("--tail={}", options.tail),
                                   fmt::format("--max-log-requests={}", pods.containers)};
  command.push_back(options.container.empty() ? "--all-containers" : "--container=" + options.container);
  if (options.follow) command.emplace_back("--follow");
  if (options.previous) command.emplace_back("--previous");
  if (!options.cluster.kubeconfig.empty()) command.push_back("--kubeconfig=" + options.cluster.kubeconfig);
  if (!options.cluster.context.empty()) command.push_back("--context=" + options.cluster.context);
  return command;
}

}  // namespace

int runLogs(const LogsOptions& options) {
  Pods pods;
  const int status =
      runInCluster(options, [&](Session session) { return findPods(std::move(session), options, pods); });
  if (status != kDone) return status;
  std::vector<std::string> command = commandFor(options, pods);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  return fail("kubectl cannot be run: " + std::generic_category().message(errno));
}

}  // namespace dynamo::plugin
