// Quirks ctl-Q17, ctl-Q18, child-Q33.
#include "common/lifecycle/component_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/readiness.h"
#include "common/model/graph.h"
#include "common/model/names.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

const Value* findByName(std::span<const Value* const> objects, std::string_view name) {
  const auto found =
      std::find_if(objects.begin(), objects.end(), [&](const Value* o) { return nameOf(*o) == name; });
  return found == objects.end() ? nullptr : *found;
}

/// What is said of the workload as a whole.
struct Words {
  std::string_view ready;
  std::string_view readyText;
  std::string_view notReady;
  std::string_view notReadyText;
};
constexpr Words kDeploymentWords{"DeploymentReady", "Deployment is ready", "DeploymentNotReady",
                                 "Deployment is not ready"};
constexpr Words kSetWords{"AllLeaderWorkerSetsReady", "All LeaderWorkerSets are ready",
                          "SomeLeaderWorkerSetsNotReady", "Some LeaderWorkerSets are not ready"};

struct Workload {
  const Words& words;
  std::string notReady;  ///< what is missing; empty: all is ready
  Value service;         ///< status.service; null: none
  bool ready() const { return notReady.empty(); }
};

Workload observeDeployment(const ComponentView& view, Allocator& allocator) {
  Workload made{kDeploymentWords, "", Value{}};
  const Readiness readiness = deploymentReadiness(view.workload);
  if (!readiness.ready) made.notReady = readiness.message;
  if (view.workload == nullptr) return made;
  const json::Maker make{allocator};
  const std::string_view name = nameOf(*view.workload);
  made.service =
      make.object("componentKind", "Deployment", "componentName", name, "componentNames", make.list(name));
  for (const std::string_view count : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    make.set(made.service, count, countAt(statusOf(*view.workload), count));
  }
  return made;
}

Workload observeSets(const ComponentView& view, Allocator& allocator) {
  constexpr std::int64_t kMostNamed = 3;  // of hundreds of sets a few lead to the cause as well
  Workload made{kSetWords, "", Value{}};
  const json::Maker make{allocator};
  const std::int64_t replicas = countAt(specOf(view.deployment), "replicas", 1);
  if (replicas == 0) return made;
  const std::string base = model::dashed(nameOf(view.deployment));
  std::int64_t missing = 0;
  std::int64_t total = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < replicas; ++i) {
    std::string name = fmt::format("{}-{}", base, i);
    const Value* set = findByName(view.leaderWorkerSets, name);
    const Readiness readiness = leaderWorkerSetReadiness(set, findByName(view.podGroups, name));
    if (!readiness.ready && ++missing <= kMostNamed) {
      made.notReady += fmt::format("{}{}: {}", made.notReady.empty() ? "" : "; ", name, readiness.message);
    }
    const Value* status = set == nullptr ? nullptr : statusOf(*set);
    total += countAt(status, "replicas");
    updated += countAt(status, "updatedReplicas");
    ready += countAt(status, "readyReplicas");
    names.push_back(std::move(name));
  }
  if (missing > kMostNamed) made.notReady += fmt::format("; and {} more", missing - kMostNamed);
  made.service = make.object("componentKind", "LeaderWorkerSet", "componentName", names.front());
  std::sort(names.begin(), names.end());
  Value list = make.list();
  for (const std::string& name : names) make.push(list, name);
  make.set(made.service, "componentNames", std::move(list));
  make.set(made.service, "replicas", total);
  make.set(made.service, "updatedReplicas", updated);
  make.set(made.service, "readyReplicas", ready);
  return made;
}

std::vector<const Value*> podsOf(const ComponentView& view) {
  std::vector<const Value*> own;
  std::copy_if(view.pods.begin(), view.pods.end(), std::back_inserter(own),
               [&](const Value* pod) { return isPodOf(*pod, view.deployment); });
  return own;
}

/// Tells of causes that the stored condition does not name yet.
void tellCauses(const std::vector<PodFailure>& causes, const std::string& text, const Value& deployment,
                Outcome& outcome) {
  const std::string_view told =
      json::findText(findCondition(statusOf(deployment), condition::kPodFailure), "message");
  for (const PodFailure& cause : causes) {
    if (isToldFirst(cause.what, told, text)) outcome.events.push_back(warning(cause.reason, cause.text()));
  }
}

Outcome failed(const ComponentView& view, Time now, Allocator& allocator) {
  Outcome outcome;
  outcome.retry = true;
  const std::string problems = lastingProblems(view.failures);
  if (problems.empty()) return outcome;
  const Value* stored = statusOf(view.deployment);
  Value status = stored == nullptr ? Value{rapidjson::kObjectType} : json::copy(*stored, allocator);
  const std::string message = "Failed to reconcile DynamoComponentDeployment: " + problems;
  setCondition(status, {condition::kAvailable, Truth::False, reason::kReconciling, message},
               generationOf(view.deployment), now, allocator);
  if (findCondition(stored, condition::kComponentReady) == nullptr) {
    setCondition(status,
                 {condition::kComponentReady, Truth::Unknown, reason::kReconciling,
                  "Starting to reconcile DynamoComponentDeployment"},
                 generationOf(view.deployment), now, allocator);
  }
  if (isNews(findCondition(stored, condition::kAvailable), message)) {
    outcome.events.push_back(warning(reason::kReconcileError, problems));
  }
  setStatus(outcome, view.deployment, std::move(status));
  return outcome;
}

}  // namespace

bool usesLeaderWorkerSets(const ComponentView& view) {
  const Value* spec = specOf(view.deployment);
  return view.lwsEnabled && spec != nullptr && model::nodeCount(*spec) > 1;
}

bool isPodOf(const Value& pod, const Value& deployment) {
  std::string_view service = json::findText(specOf(deployment), "serviceName");
  if (service.empty()) service = nameOf(deployment);
  if (labelOf(pod, api::label::kComponent) != service) return false;
  std::string_view graph = labelOf(deployment, api::label::kGraph);
  if (graph.empty())
    graph = json::findText(json::findObject(specOf(deployment), "labels"), api::label::kGraph);
  if (!graph.empty() && labelOf(pod, api::label::kGraph) != graph) return false;
  return labelOf(pod, api::label::kWorkerHash) == labelOf(deployment, api::label::kWorkerHash);
}

Outcome componentOutcome(const ComponentView& view, Time now, Allocator& allocator) {
  if (isBeingDeleted(view.deployment)) return {};
  if (!view.failures.empty()) return failed(view, now, allocator);
  Outcome outcome;
  Workload workload =
      usesLeaderWorkerSets(view) ? observeSets(view, allocator) : observeDeployment(view, allocator);
  const std::vector<const Value*> pods = podsOf(view);
  PodFailures failures = podFailures(pods, now);
  if (auto refused = refusedPods(view.workload)) {
    failures.causes.insert(failures.causes.begin(), std::move(*refused));
  }
  outcome.lookAgain = failures.lookAgain;

  const Value* stored = statusOf(view.deployment);
  const std::int64_t generation = generationOf(view.deployment);
  Value status = stored == nullptr ? Value{rapidjson::kObjectType} : json::copy(*stored, allocator);
  const std::string causes = textOf(failures.causes);
  const Words& words = workload.words;
  const Truth truth = workload.ready() ? Truth::True : Truth::False;
  std::string message{workload.ready() ? words.readyText : words.notReadyText};
  if (!workload.ready()) {
    message += ": " + workload.notReady;
    if (!causes.empty()) message += "; " + causes;
  }
  setCondition(
      status,
      {condition::kAvailable, truth, workload.ready() ? words.ready : words.notReady, std::move(message)},
      generation, now, allocator);
  setCondition(status,
               {condition::kComponentReady, truth, workload.ready() ? "ComponentReady" : "ComponentNotReady",
                workload.ready() ? "DynamoComponent is ready" : "DynamoComponent is not ready"},
               generation, now, allocator);
  if (causes.empty()) {
    removeCondition(status, condition::kPodFailure);
  } else {
    tellCauses(failures.causes, causes, view.deployment, outcome);
    setCondition(status, {condition::kPodFailure, Truth::True, failures.causes.front().reason, causes},
                 generation, now, allocator);
  }
  if (workload.service.IsNull()) {
    json::remove(status, "service");
  } else {
    json::set(status, "service", std::move(workload.service), allocator);
  }
  json::set(status, "observedGeneration", Value{generation}, allocator);
  setStatus(outcome, view.deployment, std::move(status));
  return outcome;
}

}  // namespace dynamo::lifecycle
