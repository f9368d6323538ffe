#include "controller/plugin/change.h"

#include <fmt/format.h>

#include <iostream>
#include <optional>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/json/patch.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/time.h"
#include "common/model/names.h"
#include "common/model/scaling.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

using json::Value;
using lifecycle::specOf;
using runtime::Task;

/// The annotation that `kubectl rollout restart` writes to pod templates.
constexpr std::string_view kRestartedAt = "kubectl.kubernetes.io/restartedAt";

/// Patches an object. Returns the exit status.
Task<int> patchObject(Session session, std::string kind, std::string name, kube::PatchType type,
                      std::string body, kube::PatchOptions options) {
  const kube::Resource& resource = controller::resourceOf(api::kGroup, kind);
  const auto answer =
      co_await session.client.patch(resource, session.namespaceName, name, type, std::move(body), options);
  if (const auto* error = std::get_if<kube::ApiError>(&answer)) co_return fail(error->message);
  co_return kDone;
}

std::string restartPatch(const std::string& service, const std::string& time) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  if (service.empty())
    return json::dump(make.object("spec", make.object("restart", make.object("id", time))));
  Value pods = make.object("annotations", make.object(kRestartedAt, time));
  Value services = make.object(service, make.object("extraPodMetadata", std::move(pods)));
  return json::dump(make.object("spec", make.object("services", std::move(services))));
}

const Value* serviceOf(const Value& graph, const std::string& name) {
  return json::findObject(json::findObject(specOf(graph), "services"), name);
}

/// Returns what else a change of the pods of the service does: the hash of worker generations covers them
/// all.
std::string_view consequenceFor(const Value* service) {
  const bool worker = api::isWorkerType(json::findText(service, "componentType"));
  return worker ? " (without Grove, the workers of all services do)" : "";
}

Task<int> restart(Session session, const RestartOptions& options) {
  const auto read = co_await readGraph(session, options.name);
  if (const auto* error = std::get_if<std::string>(&read)) co_return fail(*error);
  const json::Document& graph = std::get<json::Document>(read);
  if (!options.service.empty()) {
    if (const auto missing = missingService(graph, options.service)) co_return fail(*missing);
  }
  const std::string kind{api::kDynamoGraphDeployment};
  const std::string patch = restartPatch(options.service, lifecycle::formatTime(currentTime()));
  const kube::PatchOptions plain;
  const int status = co_await patchObject(session, kind, options.name, kube::PatchType::Merge, patch, plain);
  if (status != kDone) co_return status;
  const std::string what = options.service.empty() ? "all services" : "service " + options.service;
  std::cout << fmt::format("{} of {}/{} will restart{}; follow it with kubectl dynamo status {} -n {} -w\n",
                           what, session.namespaceName, options.name,
                           consequenceFor(serviceOf(graph, options.service)), options.name,
                           session.namespaceName);
  co_return kDone;
}

/// "add" also replaces, and fails if the service has been removed meanwhile.
std::string replicasPatch(const ScaleOptions& options) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  const std::string path = fmt::format("/spec/services/{}/replicas", json::escapePointer(options.service));
  return json::dump(make.list(make.object("op", "add", "path", path, "value", options.replicas)));
}

/// Returns whom an adapter scales, such as "service Worker of graph llama".
std::string targetOf(const Value& adapter) {
  const Value* target = json::findObject(specOf(adapter), "dgdRef");
  return fmt::format("service {} of graph {}", json::findText(target, "serviceName"),
                     json::findText(target, "name"));
}

using AdapterName = std::optional<std::string>;

/// Returns the name of the adapter that scales the service, or nullopt if the graph does. The error is one
/// line. Two graphs may have services whose adapters would get the same name.
Task<std::variant<AdapterName, std::string>> findAdapter(Session session, const ScaleOptions& options,
                                                         const Value& graph) {
  using Found = std::variant<AdapterName, std::string>;
  const Value* service = serviceOf(graph, options.service);
  // Whether the operator honours the deprecated field `autoscaling` is not known here.
  if (service == nullptr || !model::hasScalingAdapter(*service, true))
    co_return Found{AdapterName{std::nullopt}};
  const std::string name = model::componentName(options.name, options.service);
  const kube::Resource& adapters =
      controller::resourceOf(api::kGroup, api::kDynamoGraphDeploymentScalingAdapter);
  const auto got = co_await session.client.get(adapters, session.namespaceName, name);
  const auto* error = std::get_if<kube::ApiError>(&got);
  if (error != nullptr && error->reason != kube::Reason::NotFound) co_return Found{error->message};
  std::string problem = "does not exist";
  if (const auto* adapter = std::get_if<json::Document>(&got)) {
    const std::string target = targetOf(*adapter);
    if (target == fmt::format("service {} of graph {}", options.service, options.name))
      co_return Found{AdapterName{name}};
    problem = "scales " + target;
  }
  if (!model::hasScalingAdapter(*service, false)) co_return Found{AdapterName{std::nullopt}};
  co_return Found{fmt::format(
      "service {} of {}/{} is scaled by its scaling adapter {}, which {}: see whether the operator runs and "
      "what the status of the graph says, or disable scalingAdapter in the service",
      options.service, session.namespaceName, options.name, name, problem)};
}

Task<int> scale(Session session, const ScaleOptions& options) {
  const auto read = co_await readGraph(session, options.name);
  if (const auto* error = std::get_if<std::string>(&read)) co_return fail(*error);
  const json::Document& graph = std::get<json::Document>(read);
  if (const auto missing = missingService(graph, options.service)) co_return fail(*missing);
  const auto found = co_await findAdapter(session, options, graph);
  if (const auto* error = std::get_if<std::string>(&found)) co_return fail(*error);
  const AdapterName& adapter = std::get<AdapterName>(found);
  const bool adapted = adapter.has_value();
  const std::string kind{adapted ? api::kDynamoGraphDeploymentScalingAdapter : api::kDynamoGraphDeployment};
  const std::string name = adapter.value_or(options.name);
  const std::string patch =
      adapted ? fmt::format(R"({{"spec":{{"replicas":{}}}}})", options.replicas) : replicasPatch(options);
  const kube::PatchType type = adapted ? kube::PatchType::Merge : kube::PatchType::Json;
  kube::PatchOptions how;
  if (adapted) how.subresource = "scale";
  const int status = co_await patchObject(session, kind, name, type, patch, how);
  if (status != kDone) co_return status;
  std::cout << fmt::format("service {} of {}/{} shall have {} replicas\n", options.service,
                           session.namespaceName, options.name, options.replicas);
  co_return kDone;
}

}  // namespace

int runRestart(const RestartOptions& options) {
  return runInCluster(options, [&](Session session) { return restart(std::move(session), options); });
}

int runScale(const ScaleOptions& options) {
  return runInCluster(options, [&](Session session) { return scale(std::move(session), options); });
}

}  // namespace dynamo::plugin
