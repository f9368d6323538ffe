#include "controller/plugin/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "common/api/kinds.h"
#include "common/field/finding.h"
#include "common/lifecycle/object.h"
#include "common/observability/log.h"
#include "controller/commands/cluster_flags.h"
#include "controller/kube/watcher.h"
#include "controller/plugin/program.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {

using runtime::Task;

void report(std::string_view message) {
  std::cerr << kProgram.name << ": " << field::oneLine(message) << '\n';
}

int fail(std::string_view message) {
  report(message);
  return kFailed;
}

kube::ClientOptions clientOptions() {
  kube::ClientOptions options;
  options.userAgent = fmt::format("{}/{}", kProgram.name, kProgram.version);
  options.fieldManager = kProgram.name;
  options.hintsAtProxy = true;
  return options;
}

std::chrono::sys_seconds currentTime() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

int runInCluster(const TargetOptions& options, const std::function<Task<int>(Session)>& work) {
  log::configure({log::Level::Error, log::Format::Text});
  runtime::EventLoop loop;
  auto made = controller::makeCluster(loop, options.cluster, nullptr, clientOptions());
  if (const auto* error = std::get_if<std::string>(&made)) return fail(*error);
  controller::Cluster& cluster = std::get<controller::Cluster>(made);
  const std::string& namespaceName =
      options.namespaceName.empty() ? cluster.namespaceName : options.namespaceName;
  const int status = runtime::runTask(loop, work({loop, *cluster.client, namespaceName}));
  return std::cout.flush() ? status : fail("cannot write to standard output");
}

Task<std::variant<Listed, std::string>> listAll(Session session, kube::Resource resource,
                                                kube::ListOptions options) {
  Listed listed;
  options.limit = kube::kPageLimit;
  do {
    auto answer = co_await session.client.list(resource, session.namespaceName, options);
    if (const auto* error = std::get_if<kube::ApiError>(&answer)) co_return error->message;
    auto decoded = kube::decodeList(std::move(std::get<json::Document>(answer)));
    if (const auto* error = std::get_if<kube::ApiError>(&decoded)) co_return error->message;
    const kube::ListPage& page = listed.pages.emplace_back(std::move(std::get<kube::ListPage>(decoded)));
    for (const json::Value& item : page.items()) listed.pointers.push_back(&item);
    options.continueToken = page.continueToken();
  } while (!options.continueToken.empty());
  co_return std::move(listed);
}

Task<std::variant<FoundTarget, std::string>> readTarget(Session session, std::string name) {
  auto parsed = parseTarget(name);
  if (auto* error = std::get_if<std::string>(&parsed)) co_return std::move(*error);
  StatusTarget given = std::get<StatusTarget>(std::move(parsed));
  StatusTarget target = co_await findTarget(session.client, session.namespaceName, given);
  Snapshot snapshot{session.loop, session.client, session.namespaceName, selectionsFor(target)};
  if (auto error = co_await snapshot.load()) co_return std::move(*error);
  auto tree = treeOfTarget(snapshot, target, currentTime());
  if (!tree) co_return fmt::format("{} {}/{} not found", target.kind, session.namespaceName, target.name);
  std::string notes;
  for (const std::string& note : snapshot.notes()) notes += note + '\n';
  FoundTarget found{std::move(target), std::move(*tree), std::move(notes)};
  co_return std::move(found);
}

Task<std::variant<json::Document, std::string>> readGraph(Session session, std::string name) {
  const kube::Resource& graphs = controller::resourceOf(api::kGroup, api::kDynamoGraphDeployment);
  auto got = co_await session.client.get(graphs, session.namespaceName, name);
  if (const auto* error = std::get_if<kube::ApiError>(&got)) co_return error->message;
  co_return std::move(std::get<json::Document>(got));
}

std::optional<std::string> missingService(const json::Value& graph, std::string_view service) {
  const json::Value* services = json::findObject(lifecycle::specOf(graph), "services");
  if (json::find(services, service) != nullptr) return std::nullopt;
  std::vector<std::string> names;
  if (services != nullptr) {
    for (const auto& each : services->GetObject()) names.emplace_back(json::text(each.name));
  }
  std::sort(names.begin(), names.end());
  return fmt::format("{} has no service {}; it has {}", lifecycle::nameOf(graph), service,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace dynamo::plugin
