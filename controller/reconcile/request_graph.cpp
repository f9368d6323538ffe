#include "controller/reconcile/request_reconcile.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <variant>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/failures.h"
#include "controller/reconcile/child_requests.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

using lifecycle::Done;
using lifecycle::RequestStatus;

namespace {

/// How long the output of a complete Job may be late (decision life-Q5).
constexpr std::chrono::seconds kOutputMayBeLate{60};

/// How often a graph in another namespace is looked at.
constexpr std::chrono::seconds kLookElsewhereAgain{30};

void warnOfLeft(const std::vector<std::string>& left, Outcome& outcome) {
  for (const std::string& problem : left)
    outcome.events.push_back(lifecycle::warning("ConfigMapCreationFailed", problem));
}

}  // namespace

Task<ReconcileResult> RequestReconcile::readOutput(const Document& job) {
  auto found = co_await read(outputKey());
  if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
  const Document& configMap = std::get<Document>(found);
  if (!configMap.IsNull()) co_return co_await takeOutput(configMap);
  const auto ended = lifecycle::parseTime(json::findText(lifecycle::statusOf(job), "completionTime"));
  if (ended && environment_.now() < *ended + kOutputMayBeLate) co_return again(kLateAgain);
  Outcome result = status().generationFailed(fmt::format("output {} not found", k8s::toText(outputKey())));
  co_return co_await finish(std::move(result));
}

Task<ReconcileResult> RequestReconcile::takeOutput(const Document& configMap) {
  // ConfigMaps of the output are written where the graph will be.
  if (const std::string problem = namespaceProblem(); !problem.empty()) {
    Outcome refused = status().generationFailed(problem);
    co_return co_await finish(std::move(refused));
  }
  const auto output = lifecycle::readProfilingOutput(configMap, allocator());
  if (const auto* problem = std::get_if<lifecycle::ProfilingProblem>(&output)) {
    Outcome result = problem->ofProfiler ? status().profilingFailed(problem->message)
                                         : status().generationFailed(problem->message);
    co_return co_await finish(std::move(result));
  }
  const auto& result = std::get<lifecycle::ProfilingOutput>(output);
  std::vector<std::string> left;
  bool adopts = false;
  if (!result.additional.empty()) {
    auto adopted = co_await adoptsGraph(result.graph);
    if (auto* failed = std::get_if<Ending>(&adopted))
      co_return co_await waits(std::move(*failed), &RequestStatus::outputWaits);
    adopts = std::get<bool>(adopted);
  }
  Ending applied = co_await applyConfigMaps(result.additional, nullptr, adopts, left);
  if (!isDone(applied)) co_return co_await waits(std::move(applied), &RequestStatus::outputWaits);
  Outcome outcome = outputTaken(result, lifecycle::roomForOutput(request_), left);
  Ending written = co_await carryOut(environment_, request_, outcome, writer_);
  if (lifecycle::isInvalid({&written, 1})) {
    // The request has annotations that the cache does not know, such as that of kubectl.
    outcome = outputTaken(result, 0, left);
    written = co_await carryOut(environment_, request_, outcome, writer_);
  }
  if (isDone(written)) co_return resultOf(outcome, std::move(written), std::move(lookedUp_));
  co_return co_await waits(std::move(written), &RequestStatus::outputWaits);
}

Outcome RequestReconcile::outputTaken(const lifecycle::ProfilingOutput& output, std::size_t room,
                                      const std::vector<std::string>& left) {
  Value annotations = lifecycle::annotationsPatch(request_, output, room, allocator());
  const bool isAnnotated = json::find(lifecycle::annotationsOf(annotations), lifecycle::kGeneratedGraph);
  Outcome outcome = status().generated(output, isAnnotated);
  if (!lifecycle::hasAnnotations(request_, annotations)) {
    outcome.writes.push_back(lifecycle::patchOf(request_, std::move(annotations)));
  } else if (isAnnotated) {
    // An earlier reconcile has written and told this, but not the status.
    std::erase_if(outcome.events, [](const auto& event) { return event.reason == "SpecGenerated"; });
  }
  warnOfLeft(left, outcome);
  return outcome;
}

Task<ReconcileResult> RequestReconcile::waits(Ending why, Tell tell) {
  reportPersistent(environment_, k8s::keyOf(request_), {&why, 1});
  if (!isPermanent(why)) co_return ReconcileResult{.ending = std::move(why)};
  RequestStatus now = status();
  Outcome result = (now.*tell)(messageOf(why));
  co_return co_await finish(std::move(result));
}

Task<std::variant<bool, Ending>> RequestReconcile::adoptsGraph(const Value& generated) {
  const std::string name = lifecycle::graphNameOf(request_, generated);
  auto found = co_await readOwnGraph(name);
  if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
  const Document& graph = std::get<Document>(found);
  co_return !graph.IsNull() && lifecycle::isOfRequest(graph, request_) &&
      lifecycle::isOlderThanRequest(graph, request_) && !lifecycle::isBeingDeleted(graph);
}

Task<Ending> RequestReconcile::applyConfigMaps(const std::vector<Value>& documents, const Value* graph,
                                               bool adopts, std::vector<std::string>& left) {
  const kube::Resource& resource = resourceOf("", "ConfigMap");
  for (const Value& wanted : lifecycle::additionalConfigMaps(request_, documents, graph, allocator())) {
    const k8s::ObjectKey key = k8s::keyOf(wanted);
    if (key.name.empty()) {
      left.emplace_back("an additional ConfigMap has no name: it is left out");
      continue;
    }
    auto found = co_await read(key);
    if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
    const Document& live = std::get<Document>(found);
    if (!live.IsNull() && !lifecycle::isOfRequest(live, request_)) {
      left.push_back(
          fmt::format("{} exists and does not belong to this request: it stays as it is", k8s::toText(key)));
      continue;
    }
    const Value* owner = lifecycle::controllerOf(live);
    if (!live.IsNull() && owner == nullptr && adopts && lifecycle::isOlderThanRequest(live, request_)) {
      // The reference makes ConfigMaps without an owner.
      left.push_back(fmt::format("{} is that of an earlier graph: it stays as it is", k8s::toText(key)));
      continue;
    }
    if (owner != nullptr && (graph == nullptr || !lifecycle::isControlledBy(live, *graph))) {
      if (graph == nullptr) continue;
      if (json::findText(owner, "kind") == api::kDynamoGraphDeployment &&
          json::findText(owner, "name") == lifecycle::nameOf(*graph))
        co_return lifecycle::Transient{
            fmt::format("{} belongs to a graph that was deleted: its deletion is awaited", k8s::toText(key))};
      // The pods of another graph use it.
      left.push_back(fmt::format("{} belongs to another graph: it stays as it is", k8s::toText(key)));
      continue;
    }
    auto answer = co_await applyChild(environment_.client, resource, key, wanted, true,
                                      live.IsNull() ? nullptr : &live);
    if (auto* error = std::get_if<kube::ApiError>(&answer)) {
      Ending failed = failureOf(key, *error);
      if (!lifecycle::isInvalid({&failed, 1})) co_return failed;
      left.push_back(messageOf(failed));
    }
  }
  co_return Done{};
}

Value RequestReconcile::forgetGraph() {
  const json::Maker make{allocator()};
  Value annotations = make.object();
  make.set(annotations, lifecycle::kGeneratedGraph, Value{});
  return make.object("metadata", make.object("annotations", std::move(annotations)));
}

Task<std::variant<Document, Ending>> RequestReconcile::readOwnGraph(std::string_view name) {
  const kube::Resource& resource = resourceOf(api::kGroup, api::kDynamoGraphDeployment);
  const std::string there = lifecycle::graphNamespaceOf(request_);
  const bool elsewhere = there != space();
  std::vector<k8s::ObjectKey> keys{keyIn(resource, space(), name)};
  if (elsewhere && namespaceProblem().empty()) keys.push_back(keyIn(resource, there, name));
  for (const k8s::ObjectKey& key : keys) {
    auto found = co_await read(key);
    if (std::holds_alternative<Ending>(found)) co_return std::move(found);
    Document& graph = std::get<Document>(found);
    // A user may have removed the labels of one in the namespace of the request.
    if (!graph.IsNull() && (!elsewhere || lifecycle::isOfRequest(graph, request_)))
      co_return std::move(found);
  }
  if (!environment_.config.graphMayBeElsewhere()) co_return Document{};
  // The annotation that named its namespace may be gone.
  for (const k8s::ObjectKey& key :
       environment_.cache.keysOfKind(kube::apiVersionOf(resource), resource.kind)) {
    auto cached = key.name == name ? environment_.cache.find(key) : std::nullopt;
    if (cached && lifecycle::isOfRequest(cached->object, request_)) co_return std::move(cached->object);
  }
  co_return Document{};
}

Task<ReconcileResult> RequestReconcile::createGraph() {
  auto made = lifecycle::generatedGraph(request_, allocator());
  if (const auto* problem = std::get_if<std::string>(&made)) {
    Outcome result = status().generationFailed(*problem);
    co_return co_await finish(std::move(result));
  }
  const Value& graph = std::get<Value>(made);
  k8s::ObjectKey key = k8s::keyOf(graph);
  const bool elsewhere = key.namespaceName != space();
  Document live;
  if (elsewhere) {
    // An operator that did not look at the namespace has created it beside the request.
    auto found = co_await readOwnGraph(key.name);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    live = std::move(std::get<Document>(found));
  }
  if (live.IsNull()) {
    if (const std::string problem = namespaceProblem(); !problem.empty()) {
      Outcome result = status().generationFailed(problem);
      co_return co_await finish(std::move(result));
    }
    auto found = co_await read(key);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    live = std::move(std::get<Document>(found));
  }
  const bool exists = !live.IsNull();
  // The controller may have ended, or not learned of it, after it created the graph.
  const bool adopted = exists && lifecycle::isOlderThanRequest(live, request_);
  const bool isOurs = exists && lifecycle::isOfRequest(live, request_);
  if (exists && (adopted || !isOurs) && lifecycle::isBeingDeleted(live)) {
    // Its name is free soon. Adopted, it would take the request along.
    Outcome result = status().graphWaits(fmt::format("{} is being deleted", k8s::toText(key)));
    co_return co_await finish(std::move(result));
  }
  if (exists && !isOurs) {
    Outcome result =
        status().nameTaken(fmt::format("{} exists and does not belong to this request", k8s::toText(key)));
    co_return co_await finish(std::move(result));
  }
  if (!exists) {
    auto answer = co_await environment_.client.create(resourceOf(key.group, key.kind), key.namespaceName,
                                                      json::dump(graph));
    if (auto* error = std::get_if<kube::ApiError>(&answer)) {
      Ending ended = failureOf(key, *error);
      if (elsewhere && !isPermanent(ended)) {
        // The namespace may not exist, or belong to another operator.
        Outcome told = status().graphWaits(messageOf(ended));
        co_return co_await finish(std::move(told));
      }
      if (!lifecycle::isInvalid({&ended, 1}))
        co_return co_await waits(std::move(ended), &RequestStatus::graphWaits);
      Outcome outcome = status().graphRefused(messageOf(ended));
      outcome.failures.push_back(std::move(ended));
      co_return co_await finish(std::move(outcome));
    }
    live = std::move(std::get<Document>(answer));
  }
  std::vector<std::string> left;
  if (!adopted) {
    const std::vector<Value> documents = lifecycle::additionalDocuments(request_, allocator());
    Ending applied = co_await applyConfigMaps(documents, &live, false, left);
    if (!isDone(applied)) co_return co_await waits(std::move(applied), &RequestStatus::graphWaits);
  }
  Outcome outcome = status().graphCreated(key.name, adopted);
  warnOfLeft(left, outcome);
  outcome.writes.push_back(lifecycle::patchOf(request_, forgetGraph()));
  Ending written = co_await carryOut(environment_, request_, outcome, writer_);
  if (isDone(written)) co_return resultOf(outcome, std::move(written), std::move(lookedUp_));
  co_return co_await waits(std::move(written), &RequestStatus::graphWaits);
}

Task<ReconcileResult> RequestReconcile::followGraph() {
  const std::string_view name = json::findText(lifecycle::statusOf(request_), "dgdName");
  const kube::Resource& resource = resourceOf(api::kGroup, api::kDynamoGraphDeployment);
  const std::string there = lifecycle::graphNamespaceOf(request_);
  const k8s::ObjectKey key = keyIn(resource, space(), name);
  if (const auto cached = environment_.cache.find(key);
      cached && (there == space() || lifecycle::isOfRequest(cached->object, request_))) {
    Outcome result = status().graphFollowed(cached->object);
    co_return co_await finish(std::move(result));
  }
  auto found = co_await readOwnGraph(name);
  if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
  const Document& graph = std::get<Document>(found);
  Outcome result = graph.IsNull() ? status().graphDeleted() : status().graphFollowed(graph);
  // The watches of this process may not see the other namespace.
  if (!graph.IsNull() && lifecycle::namespaceOf(graph) != space())
    lifecycle::requeueWithin(result.requeueAfter, kLookElsewhereAgain);
  co_return co_await finish(std::move(result));
}

}  // namespace dynamo::controller
