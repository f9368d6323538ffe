#include "controller/view/status_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "common/api/kinds.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pod_failures.h"
#include "common/lifecycle/readiness.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::countAt;
using lifecycle::Readiness;
using lifecycle::specOf;
using lifecycle::statusOf;

void setReadiness(Node& node, const Readiness& readiness) {
  node.ready = readiness.ready;
  node.state = readiness.reason;
  node.message = readiness.message;
}

void addToMessage(Node& node, std::string_view text) {
  if (text.empty()) return;
  node.message.append(node.message.empty() ? "" : "; ").append(text);
}

std::int64_t containersOf(const Value& pod, bool onlyReady) {
  const Value* list =
      onlyReady ? json::find(statusOf(pod), "containerStatuses") : json::find(specOf(pod), "containers");
  if (list == nullptr || !list->IsArray()) return 0;
  std::int64_t count = 0;
  for (const Value& each : list->GetArray()) {
    if (!onlyReady || json::findBool(&each, "ready").value_or(false)) ++count;
  }
  return count;
}

/// A finished pod is replaced by its controller, so it is not reported as a failure.
void fillPod(Node& node, const Value& pod, Time now) {
  node.replicas = Counts{containersOf(pod, true), containersOf(pod, false)};
  setReadiness(node, lifecycle::podReadiness(&pod));
  if (node.ready || lifecycle::isBeingDeleted(pod)) return;
  const std::string_view phase = json::findText(statusOf(pod), "phase");
  const Value* const pods[] = {&pod};
  // Who looks at a pod wants its reason now. Only conditions and Events wait.
  const lifecycle::PodFailures found = lifecycle::podFailures(pods, now, lifecycle::kNoGrace);
  if (!found.causes.empty()) {
    node.state = found.causes.front().reason;
    node.message = lifecycle::textOf(found);
  } else if (phase == "Succeeded" || phase == "Failed") {
    node.state = phase;
    node.message = json::findText(statusOf(pod), "message");
  } else {
    addToMessage(node, lifecycle::textOf(found));
  }
}

void fillDeployment(Node& node, const Value& deployment) {
  node.replicas =
      Counts{countAt(statusOf(deployment), "readyReplicas"), countAt(specOf(deployment), "replicas", 1)};
  setReadiness(node, lifecycle::deploymentReadiness(&deployment));
  if (const auto refused = lifecycle::replicaFailure(&deployment); refused && !node.ready) {
    node.state = refused->reason;
    addToMessage(node, refused->text());
  }
}

/// A Job runs its pods once, so it is ready while they run and when they have done their work.
void fillJob(Node& node, const Value& job) {
  const Value* status = statusOf(job);
  const std::int64_t wanted = countAt(specOf(job), "completions", 1);
  const std::int64_t running = countAt(status, "ready");
  node.replicas = Counts{running, wanted};
  switch (lifecycle::jobState(job)) {
    case lifecycle::JobState::Complete:
      node.replicas->ready = wanted;
      node.state = "Complete";
      return;
    case lifecycle::JobState::Failed:
      setReadiness(node, {false, "Failed", ""});
      return;
    case lifecycle::JobState::Running:
      break;
  }
  if (lifecycle::isBeingDeleted(job)) {
    setReadiness(node, lifecycle::existenceReadiness(&job));
  } else if (json::findBool(specOf(job), "suspend").value_or(false)) {
    setReadiness(node, {false, "Suspended", ""});
  } else {
    setReadiness(node, {running > 0, running > 0 ? "Running" : "Pending", ""});
  }
}

/// Returns the counts of an object. `ready` is the status field with the number of ready replicas.
Counts replicasOf(const Value& object, const Value* status, std::string_view ready) {
  return {countAt(status, ready), countAt(specOf(object), "replicas", 1)};
}

/// Fills the node of a kind that is ready if it exists and whose status has a phase.
void fillPhase(Node& node, const Value& object) {
  setReadiness(node, lifecycle::existenceReadiness(&object));
  const std::string_view phase = json::findText(statusOf(object), "phase");
  if (node.ready && !phase.empty()) node.state = phase;
}

bool exists(std::span<const Node> nodes, std::string_view kind) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return (node.kind == kind && node.created) || exists(node.children, kind);
  });
}

/// The kinds whose missing objects are unknown, each with the reason.
using Unlisted = std::map<std::string_view, std::string_view>;

void markUnknown(std::vector<Node>& nodes, const Unlisted& unlisted) {
  for (Node& node : nodes) {
    markUnknown(node.children, unlisted);
    if (node.state != lifecycle::reason::kMissing) continue;
    if (node.kind == "service") {
      // Its replicas are those of the missing child.
      if (node.children.empty() || node.children.front().state != kUnknown) continue;
      node.state = kUnknown;
      node.replicas.reset();
    } else if (const auto found = unlisted.find(node.kind); found != unlisted.end()) {
      node.state = kUnknown;
      node.message = found->second;
    }
  }
}

}  // namespace

Node nodeOf(const Value& object, const Related& related, Time now) {
  Node node;
  node.kind = json::findText(&object, "kind");
  node.name = lifecycle::nameOf(object);
  node.created = lifecycle::parseTime(json::findText(lifecycle::metadataOf(object), "creationTimestamp"));
  const Value* status = statusOf(object);
  if (node.kind == "Pod") {
    fillPod(node, object, now);
  } else if (node.kind == "Job") {
    fillJob(node, object);
  } else if (node.kind == "Deployment") {
    fillDeployment(node, object);
  } else if (node.kind == api::kDynamoComponentDeployment) {
    node.replicas = replicasOf(object, json::findObject(status, "service"), "readyReplicas");
    setReadiness(node, lifecycle::componentDeploymentReadiness(&object));
  } else if (node.kind == "LeaderWorkerSet") {
    node.replicas = replicasOf(object, status, "readyReplicas");
    setReadiness(node, lifecycle::leaderWorkerSetReadiness(&object, related.podGroup));
  } else if (node.kind == "PodCliqueSet") {
    setReadiness(node, lifecycle::podCliqueSetReadiness(&object));
  } else if (node.kind == "PodClique") {
    node.replicas = replicasOf(object, status, "readyReplicas");
    setReadiness(node, lifecycle::podCliqueReadiness(&object, related.podCliqueSet, related.desired));
  } else if (node.kind == "PodCliqueScalingGroup") {
    node.replicas = replicasOf(object, status, "availableReplicas");
    setReadiness(node, lifecycle::scalingGroupReadiness(&object, related.podCliqueSet, related.desired, {}));
  } else if (node.kind == api::kDynamoGraphDeploymentScalingAdapter) {
    fillPhase(node, object);
    if (node.ready && specOf(object) != nullptr)
      node.message = fmt::format("replicas {}", countAt(specOf(object), "replicas", 1));
  } else {
    fillPhase(node, object);
  }
  return node;
}

Node missingNode(std::string_view kind, std::string_view name) {
  Node node;
  node.kind = kind;
  node.name = name;
  setReadiness(node, lifecycle::existenceReadiness(nullptr));
  return node;
}

void markUnlisted(std::vector<Node>& nodes, std::span<const std::string> kinds) {
  constexpr std::string_view kSet = "PodCliqueSet";
  const auto has = [&](std::string_view kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  Unlisted unlisted;
  for (const std::string& kind : kinds) unlisted.emplace(kind, "its kind may not be listed");
  // A graph without visible children may have those of the other pathway.
  const bool visible = exists(nodes, api::kDynamoComponentDeployment) || exists(nodes, kSet);
  if (!visible && (has(api::kDynamoComponentDeployment) || has(kSet))) {
    for (const std::string_view kind : {api::kDynamoComponentDeployment, std::string_view{"PodClique"},
                                        std::string_view{"PodCliqueScalingGroup"}})
      unlisted.emplace(kind, "the kinds of the other pathway may not be listed");
  }
  markUnknown(nodes, unlisted);
}

}  // namespace dynamo::view
