#include "controller/plugin/logs.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

using json::Value;
using runtime::Task;
using Pods = std::vector<const Value*>;

/// What one kubectl reads.
struct Source {
  std::string pods;         ///< its argument: a selector or a name
  std::size_t streams = 0;  ///< the number of containers
};

struct Sources {
  std::string namespaceName;
  std::vector<Source> all;
};

std::string selectorOf(const LogsOptions& options) {
  std::string selector = fmt::format("{}={}", api::label::kGraph, options.name);
  if (!options.service.empty()) selector += fmt::format(",{}={}", api::label::kComponent, options.service);
  return selector;
}

std::vector<std::string_view> containersOf(const Value& pod) {
  std::vector<std::string_view> names;
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    const Value* containers = json::find(lifecycle::specOf(pod), list);
    if (containers == nullptr || !containers->IsArray()) continue;
    for (const Value& each : containers->GetArray()) names.push_back(json::findText(&each, "name"));
  }
  return names;
}

bool hasContainer(const Value& pod, std::string_view name) {
  const std::vector<std::string_view> names = containersOf(pod);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Source everything(const LogsOptions& options, const Pods& pods) {
  Source source{"--selector=" + selectorOf(options)};
  for (const Value* pod : pods) source.streams += containersOf(*pod).size();
  return source;
}

/// Returns the sources of one container. kubectl fails if a selected pod does not have it. So the selector is
/// only for services whose pods all have it, and pods of other services are named.
std::vector<Source> sourcesOf(const LogsOptions& options, const Pods& pods) {
  std::map<std::string_view, Pods> services;
  for (const Value* pod : pods) services[lifecycle::labelOf(*pod, api::label::kComponent)].push_back(pod);
  std::vector<Source> sources;
  std::vector<std::string_view> complete;
  Source selected;
  for (const auto& [service, own] : services) {
    const auto has = [&](const Value* pod) { return hasContainer(*pod, options.container); };
    if (!service.empty() && std::all_of(own.begin(), own.end(), has)) {
      complete.push_back(service);
      selected.streams += own.size();
      continue;
    }
    for (const Value* pod : own) {
      if (has(pod)) sources.push_back({fmt::format("pod/{}", lifecycle::nameOf(*pod)), 1});
    }
  }
  if (complete.empty()) return sources;
  selected.pods = fmt::format("--selector={}={},{} in ({})", api::label::kGraph, options.name,
                              api::label::kComponent, fmt::join(complete, ","));
  sources.push_back(std::move(selected));
  return sources;
}

/// Says which pods do not have the container that the user wants. Returns the error if none has it.
std::optional<std::string> reportMissing(const LogsOptions& options, const Pods& pods) {
  Pods without;
  std::set<std::string_view> names;
  for (const Value* pod : pods) {
    const std::vector<std::string_view> own = containersOf(*pod);
    names.insert(own.begin(), own.end());
    if (!hasContainer(*pod, options.container)) without.push_back(pod);
  }
  if (without.size() == pods.size())
    return fmt::format("no pod has a container {}; they have {}", options.container, fmt::join(names, ", "));
  for (const Value* pod : without)
    report(
        fmt::format("skipped pod {}, which has no container {}", lifecycle::nameOf(*pod), options.container));
  return std::nullopt;
}

/// Finds the pods. Returns the exit status.
Task<int> findPods(Session session, const LogsOptions& options, Sources& sources) {
  const auto graph = co_await readGraph(session, options.name);
  if (const auto* error = std::get_if<std::string>(&graph)) co_return fail(*error);
  if (!options.service.empty()) {
    if (const auto missing = missingService(std::get<json::Document>(graph), options.service))
      co_return fail(*missing);
  }
  const kube::Resource& resource = controller::resourceOf("", "Pod");
  kube::ListOptions selected;
  selected.labelSelector = selectorOf(options);
  const auto listed = co_await listAll(session, resource, selected);
  if (const auto* error = std::get_if<std::string>(&listed)) co_return fail(*error);
  const Pods& pods = std::get<Listed>(listed).pointers;
  if (pods.empty()) {
    std::cerr << fmt::format("no pods of {}/{}{}{}\n", session.namespaceName, options.name,
                             options.service.empty() ? "" : ", service ", options.service);
    co_return kNotReady;
  }
  sources.namespaceName = session.namespaceName;
  if (options.container.empty()) {
    sources.all.push_back(everything(options, pods));
    co_return kDone;
  }
  if (const auto error = reportMissing(options, pods)) co_return fail(*error);
  sources.all = sourcesOf(options, pods);
  co_return kDone;
}

std::vector<std::string> commandFor(const LogsOptions& options, const std::string& namespaceName,
                                    const Source& source) {
  // kubectl lists the pods again, and more may have been created. The limit costs nothing.
  const std::size_t limit = 2 * source.streams + 100;
  std::vector<std::string> command{"kubectl",
                                   "logs",
                                   source.pods,
                                   "--namespace=" + namespaceName,
                                   "--prefix",
                                   "--ignore-errors",  // containers that have not started have no log
                                   fmt::format("--tail={}", options.tail),
                                   fmt::format("--max-log-requests={}", limit)};
  command.push_back(options.container.empty() ? "--all-containers" : "--container=" + options.container);
  if (options.follow) command.emplace_back("--follow");
  if (options.previous) command.emplace_back("--previous");
  if (!options.cluster.kubeconfig.empty()) command.push_back("--kubeconfig=" + options.cluster.kubeconfig);
  if (!options.cluster.context.empty()) command.push_back("--context=" + options.cluster.context);
  return command;
}

/// Replaces the process by the command. Returns the exit status if this is not possible.
int execute(std::vector<std::string> command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  return fail("kubectl cannot be run: " + std::generic_category().message(errno));
}

/// Runs the command in a process that ends with this one. Returns its id, or -1.
pid_t start(const std::vector<std::string>& command) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::_exit(execute(command));
}

/// Returns the exit status of a process that start() has started.
int waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return fail("kubectl cannot be run: " + std::generic_category().message(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

}  // namespace

int runLogs(const LogsOptions& options) {
  Sources sources;
  int status =
      runInCluster(options, [&](Session session) { return findPods(std::move(session), options, sources); });
  if (status != kDone) return status;
  if (sources.all.size() == 1)
    return execute(commandFor(options, sources.namespaceName, sources.all.front()));
  // Logs that are followed do not end, so all must be read at the same time.
  std::vector<pid_t> children;
  for (const Source& source : sources.all) {
    children.push_back(start(commandFor(options, sources.namespaceName, source)));
    if (!options.follow) status = std::max(status, waitFor(children.back()));
  }
  if (!options.follow) return status;
  for (const pid_t child : children) status = std::max(status, waitFor(child));
  return status;
}

}  // namespace dynamo::plugin
