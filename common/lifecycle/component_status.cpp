// Quirks ctl-Q17, ctl-Q18, ctl-Q43, ctl-Q44, ctl-Q65, ctl-Q73, child-Q33.
#include "common/lifecycle/component_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failed_create.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/group_failures.h"
#include "common/lifecycle/leader_worker_sets.h"
#include "common/lifecycle/notices.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/readiness.h"
#include "common/lifecycle/worker_hash.h"
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

/// Reasons and messages of the condition Available.
struct Texts {
  std::string_view ready;
  std::string_view readyText;
  std::string_view notReady;
  std::string_view notReadyText;
};
constexpr Texts kDeploymentTexts{"DeploymentReady", "Deployment is ready", "DeploymentNotReady",
                                 "Deployment is not ready"};
constexpr Texts kSetTexts{"AllLeaderWorkerSetsReady", "All LeaderWorkerSets are ready",
                          "SomeLeaderWorkerSetsNotReady", "Some LeaderWorkerSets are not ready"};

struct Workload {
  const Texts& texts;
  std::string notReady;  ///< empty: ready
  Value service;         ///< status.service; null: none
  std::optional<std::chrono::milliseconds> requeueAfter = std::nullopt;
  std::vector<PodFailure> causes = {};
  bool ready() const { return notReady.empty(); }
};

Value deploymentCounts(const Value& workload, Allocator& allocator) {
  const json::Maker make{allocator};
  const std::string_view name = nameOf(workload);
  Value service =
      make.object("componentKind", "Deployment", "componentName", name, "componentNames", make.list(name));
  for (const std::string_view count : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"})
    make.set(service, count, countAt(statusOf(workload), count));
  return service;
}

/// The sums of the sets with these names. The first name is the name of the component's workload.
Value setCounts(std::span<const Value* const> sets, std::vector<std::string> names, Allocator& allocator) {
  const json::Maker make{allocator};
  Value service = make.object("componentKind", "LeaderWorkerSet", "componentName", names.front());
  std::int64_t total = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::sort(names.begin(), names.end());
  Value list = make.list();
  for (const std::string& name : names) {
    // The pods of a set that is being deleted are ending.
    const Value* set = findByName(sets, name);
    const Value* status = set == nullptr || isBeingDeleted(*set) ? nullptr : statusOf(*set);
    total += countAt(status, "replicas");
    updated += countAt(status, "updatedReplicas");
    ready += countAt(status, "readyReplicas");
    make.push(list, name);
  }
  make.set(service, "componentNames", std::move(list));
  make.set(service, "replicas", total);
  make.set(service, "updatedReplicas", updated);
  make.set(service, "readyReplicas", ready);
  return service;
}

Workload observeDeployment(const ComponentView& view, Allocator& allocator) {
  Workload made{kDeploymentTexts, "", Value{}};
  const Readiness readiness = deploymentReadiness(view.workload);
  if (!readiness.ready) made.notReady = readiness.message;
  if (view.workload == nullptr) return made;
  const std::int64_t replicas = countAt(specOf(*view.workload), "replicas", 1);
  const std::int64_t specified = countAt(specOf(view.deployment), "replicas", replicas);
  if (readiness.ready && replicas == 0 && specified > 0)
    made.notReady = fmt::format("is scaled to 0 replicas instead of {}", specified);
  if (auto refused = replicaFailure(view.workload)) made.causes.push_back(std::move(*refused));
  made.service = deploymentCounts(*view.workload, allocator);
  return made;
}

/// How long the status of LeaderWorkerSets without observedGeneration must not be trusted yet; nullopt: it
/// may be trusted. The time runs from the moment in which the component became unavailable.
std::optional<std::chrono::milliseconds> untrustedFor(const Value& deployment, Time now) {
  const Value* available = findCondition(statusOf(deployment), condition::kAvailable);
  if (!isObserved(deployment)) return kUnobservedGrace;
  const auto since = parseTime(json::findText(available, "lastTransitionTime"));
  // A time in the future is from the clock of another host.
  if (!isFalse(available) || !since || now < *since || now >= *since + kUnobservedGrace) return std::nullopt;
  return *since + kUnobservedGrace - now;
}

/// How much longer a set that is ready must be available until it counts; nullopt: it counts.
std::optional<std::chrono::milliseconds> availableIn(const Value& set, std::chrono::seconds minReady,
                                                     Time now) {
  const Value* available = findCondition(statusOf(set), "Available");
  const auto since = parseTime(json::findText(available, "lastTransitionTime"));
  // A time that is far in the future is from the clock of another host.
  if (minReady.count() == 0 || !since || now >= *since + minReady || now + minReady < *since)
    return std::nullopt;
  return *since + minReady - now;
}

/// Since when the component is unavailable; nullopt: it has no status yet.
std::optional<Time> unavailableSince(const Value& deployment, Time now) {
  const Value* available = findCondition(statusOf(deployment), condition::kAvailable);
  if (available == nullptr) return std::nullopt;
  return isFalse(available) ? parseTime(json::findText(available, "lastTransitionTime")) : now;
}

Workload observeSets(const ComponentView& view, Time now, Allocator& allocator) {
  constexpr std::int64_t kMaxNamed = 3;  // a few sets are enough to find the cause
  Workload made{kSetTexts, "", Value{}};
  const std::vector<long long> numbers = setNumbers(view.deployment, view.leaderWorkerSets);
  if (numbers.empty()) return made;
  const std::string base = model::dashed(nameOf(view.deployment));
  std::int64_t missing = 0;
  std::int64_t available = 0;
  std::vector<std::string> names;
  for (const long long number : numbers) {
    std::string name = fmt::format("{}-{}", base, number);
    const Value* set = findByName(view.leaderWorkerSets, name);
    Readiness readiness = leaderWorkerSetReadiness(set, findByName(view.podGroups, name));
    if (readiness.ready && lacksObservedGeneration(*set)) {
      made.requeueAfter = untrustedFor(view.deployment, now);
      if (made.requeueAfter) {
        readiness = {false, std::string{reason::kNotObserved},
                     "its controller may not have observed the latest spec"};
      }
    }
    // Each set is one replica of the component. Somebody may have scaled it.
    if (readiness.ready && countAt(specOf(*set), "replicas", 1) == 0)
      readiness = {false, std::string{reason::kPaused}, "is scaled to 0 replicas"};
    if (const auto wait = readiness.ready ? availableIn(*set, view.minReady, now) : std::nullopt) {
      requeueWithin(made.requeueAfter, wait);
      readiness = {false, std::string{reason::kUnavailable},
                   fmt::format("has been ready for less than {} s", view.minReady.count())};
    }
    if (readiness.ready) available += countAt(statusOf(*set), "readyReplicas");
    if (readiness.reason == reason::kUnscheduled) {
      made.causes.push_back({std::string{reason::kUnschedulable}, name + " cannot be gang-scheduled", ""});
    }
    if (!readiness.ready && set != nullptr && !isBeingDeleted(*set)) {
      std::vector<PodFailure> refused =
          failedCreates(view.events, *set, view.pods, unavailableSince(view.deployment, now));
      std::move(refused.begin(), refused.end(), std::back_inserter(made.causes));
    }
    if (!readiness.ready && ++missing <= kMaxNamed) {
      made.notReady += fmt::format("{}{}: {}", made.notReady.empty() ? "" : "; ", name, readiness.message);
    }
    names.push_back(std::move(name));
  }
  if (missing > kMaxNamed) made.notReady += fmt::format("; and {} more", missing - kMaxNamed);
  made.service = setCounts(view.leaderWorkerSets, std::move(names), allocator);
  if (view.minReady.count() > 0) json::set(made.service, "availableReplicas", Value{available}, allocator);
  return made;
}

std::vector<const Value*> podsOf(const ComponentView& view) {
  std::vector<const Value*> own;
  std::copy_if(view.pods.begin(), view.pods.end(), std::back_inserter(own),
               [&](const Value* pod) { return isPodOf(*pod, view.deployment); });
  return own;
}

/// Adds why LeaderWorkerSets replace their pods. The new pods do not show it, so it stays until the component
/// is ready or its spec changes.
void addGroupFailures(const std::vector<const Value*>& pods, const Value& deployment,
                      std::vector<PodFailure>& causes) {
  std::vector<PodFailure> found = groupFailures(pods);
  std::move(found.begin(), found.end(), std::back_inserter(causes));
  const Value* stored = findCondition(statusOf(deployment), condition::kPodFailure);
  const bool current = numberAt(stored, "observedGeneration", -1) == generationOf(deployment);
  if (causes.empty() && current && json::findText(stored, "reason") == reason::kCrashLoop)
    causes.push_back({std::string{reason::kCrashLoop}, std::string{json::findText(stored, "message")}, ""});
}

void setOrRemoveService(Value& status, Value&& service, Allocator& allocator) {
  if (service.IsNull()) {
    json::remove(status, "service");
  } else {
    json::set(status, "service", std::move(service), allocator);
  }
}

/// The counts of the workload that exists, whatever could not be written; null: none exists.
Value liveCounts(const ComponentView& view, Allocator& allocator) {
  if (view.workload != nullptr) return deploymentCounts(*view.workload, allocator);
  std::vector<std::string> names;
  for (const Value* set : view.leaderWorkerSets) names.emplace_back(nameOf(*set));
  return names.empty() ? Value{} : setCounts(view.leaderWorkerSets, std::move(names), allocator);
}

/// Tells that the workload was not scaled down; empty: it has no more replicas than the spec.
std::string scaleDownRefused(const ComponentView& view) {
  const auto sets = std::count_if(view.leaderWorkerSets.begin(), view.leaderWorkerSets.end(),
                                  [](const Value* set) { return !isBeingDeleted(*set); });
  const std::int64_t replicas =
      view.workload == nullptr ? sets : countAt(specOf(*view.workload), "replicas", 1);
  const std::int64_t specified = countAt(specOf(view.deployment), "replicas", 1);
  if (replicas <= specified) return {};
  return fmt::format("it is not scaled down from {} to {} replicas: ", replicas, specified);
}

Outcome failed(const ComponentView& view, Time now, Allocator& allocator) {
  Outcome outcome;
  std::string problems = permanentFailures(view.failures);
  if (problems.empty()) return outcome;
  problems.insert(0, scaleDownRefused(view));
  const Value* stored = statusOf(view.deployment);
  Value status = stored == nullptr ? Value{rapidjson::kObjectType} : json::copy(*stored, allocator);
  const std::string message = "Failed to reconcile DynamoComponentDeployment: " + problems;
  setCondition(status, {condition::kAvailable, ConditionStatus::False, reason::kReconciling, message},
               generationOf(view.deployment), now, allocator);
  if (findCondition(stored, condition::kComponentReady) == nullptr) {
    setCondition(status,
                 {condition::kComponentReady, ConditionStatus::Unknown, reason::kReconciling,
                  "Starting to reconcile DynamoComponentDeployment"},
                 generationOf(view.deployment), now, allocator);
  }
  if (isNewFailure(findCondition(stored, condition::kAvailable), message)) {
    outcome.events.push_back(warning(reason::kReconcileError, problems));
  }
  setOrRemoveService(status, liveCounts(view, allocator), allocator);
  setStatus(outcome, view.deployment, std::move(status));
  return outcome;
}

}  // namespace

bool usesLeaderWorkerSets(const ComponentView& view) {
  const Value* spec = specOf(view.deployment);
  return view.lwsEnabled && spec != nullptr && model::nodeCount(*spec) > 1;
}

bool takesCheckpoint(const Value& pod) {
  return labelOf(pod, api::label::kCheckpointSource) == "true";
}

bool isPodOf(const Value& pod, const Value& deployment) {
  if (takesCheckpoint(pod)) return false;
  std::string_view service = json::findText(specOf(deployment), "serviceName");
  if (service.empty()) service = nameOf(deployment);
  if (labelOf(pod, api::label::kComponent) != service) return false;
  std::string_view graph = labelOf(deployment, api::label::kGraph);
  if (graph.empty())
    graph = json::findText(json::findObject(specOf(deployment), "labels"), api::label::kGraph);
  const std::string_view podGraph = labelOf(pod, api::label::kGraph);
  if (!graph.empty()) {
    if (podGraph != graph) return false;
  } else if (!podGraph.empty() && podGraph != nameOf(deployment)) {
    // The pods of a deployment without a graph have its own name as their graph. A graph may have a service
    // of the same name.
    return false;
  }
  const std::string_view hash = labelOf(deployment, api::label::kWorkerHash);
  const std::string_view podHash = labelOf(pod, api::label::kWorkerHash);
  // The pods of a release without hashes keep their labels when the component gets one.
  return podHash == hash || (hash == kLegacyHash && podHash.empty());
}

Outcome componentOutcome(const ComponentView& view, Time now, Allocator& allocator) {
  if (isBeingDeleted(view.deployment)) return {};
  if (!onlyWaits(view.failures)) return failed(view, now, allocator);
  Outcome outcome;
  Workload workload =
      usesLeaderWorkerSets(view) ? observeSets(view, now, allocator) : observeDeployment(view, allocator);
  const std::vector<const Value*> pods = podsOf(view);
  PodFailures failures = podFailures(pods, now);
  std::move(workload.causes.begin(), workload.causes.end(), std::back_inserter(failures.causes));
  if (usesLeaderWorkerSets(view) && !workload.ready())
    addGroupFailures(pods, view.deployment, failures.causes);
  sortCauses(failures.causes);
  outcome.requeueAfter = failures.requeueAfter;
  requeueWithin(outcome.requeueAfter, workload.requeueAfter);

  const Value* stored = statusOf(view.deployment);
  const std::int64_t generation = generationOf(view.deployment);
  Value status = stored == nullptr ? Value{rapidjson::kObjectType} : json::copy(*stored, allocator);
  const std::string causes = textOf(failures.causes);
  const Texts& texts = workload.texts;
  std::string message{texts.readyText};
  std::string waits = waitsOf(view.failures);
  const bool isReady = workload.ready() && waits.empty();
  if (!workload.ready()) {
    message = fmt::format("{}: {}", texts.notReadyText, workload.notReady);
    if (const std::string why = textOf(failures); !why.empty()) message += "; " + why;
  } else if (!isReady) {
    message = std::move(waits);
  }
  const std::vector<Note> notes = notesOf(view.notices);
  const std::string overridden = textOf(notes);
  if (isReady && !overridden.empty()) message += ": " + overridden;
  const ConditionStatus ready = isReady ? ConditionStatus::True : ConditionStatus::False;
  setCondition(status,
               {condition::kAvailable, ready, isReady ? texts.ready : texts.notReady, std::move(message)},
               generation, now, allocator);
  setCondition(status,
               {condition::kComponentReady, ready, isReady ? "ComponentReady" : "ComponentNotReady",
                isReady ? "DynamoComponent is ready" : "DynamoComponent is not ready"},
               generation, now, allocator);
  if (causes.empty()) {
    removeCondition(status, condition::kPodFailure);
  } else {
    const Value* told = findCondition(stored, condition::kPodFailure);
    reportNewCauses(failures.causes, json::findText(told, "message"), causes, outcome);
    setCondition(status,
                 {condition::kPodFailure, ConditionStatus::True, failures.causes.front().reason, causes},
                 generation, now, allocator);
  }
  if (notes.empty()) {
    removeCondition(status, condition::kOverridden);
  } else {
    reportNew(notes, json::findText(findCondition(stored, condition::kOverridden), "message"), overridden,
              outcome);
    setCondition(status, {condition::kOverridden, ConditionStatus::True, notes.front().reason, overridden},
                 generation, now, allocator);
  }
  setOrRemoveService(status, std::move(workload.service), allocator);
  json::set(status, "observedGeneration", Value{generation}, allocator);
  setStatus(outcome, view.deployment, std::move(status));
  return outcome;
}

}  // namespace dynamo::lifecycle
