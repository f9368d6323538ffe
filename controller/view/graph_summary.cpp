#include <algorithm>

#include "common/lifecycle/conditions.h"
#include "common/lifecycle/graph_status.h"
#include "common/lifecycle/object.h"
#include "controller/view/status_tree.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::countAt;
using lifecycle::parseTime;
using lifecycle::statusOf;

std::vector<std::string> textsOf(const Value* list) {
  std::vector<std::string> texts;
  if (list == nullptr || !list->IsArray()) return texts;
  for (const Value& each : list->GetArray()) texts.emplace_back(json::text(each));
  return texts;
}

/// Returns true if the observedGeneration of a status or condition equals the generation of the graph.
/// Without an observedGeneration it counts as current, because the reference does not always write it.
bool isCurrent(const Value* observer, const Value& graph) {
  return lifecycle::numberAt(observer, "observedGeneration", INT64_MAX) >= lifecycle::generationOf(graph);
}

/// Returns true if the latest spec could not be reconciled. Only the condition says so: the
/// observedGeneration of the status is then that of the last spec that could.
bool isRefused(const Value* ready, const Value& graph) {
  return json::findText(ready, "reason") == lifecycle::reason::kNotReconciled &&
         lifecycle::numberAt(ready, "observedGeneration", -1) >= lifecycle::generationOf(graph);
}

Counts replicasOf(const Value& graph) {
  Counts sum;
  const Value* services = json::findObject(lifecycle::specOf(graph), "services");
  const Value* observed = json::findObject(statusOf(graph), "services");
  if (services == nullptr) return sum;
  for (const auto& entry : services->GetObject()) {
    sum.desired += countAt(&entry.value, "replicas", 1);
    const Value* counts = json::findObject(observed, json::text(entry.name));
    const char* const field =
        json::find(counts, "readyReplicas") != nullptr ? "readyReplicas" : "availableReplicas";
    sum.ready += countAt(counts, field);
  }
  return sum;
}

}  // namespace

GraphSummary summaryOf(const Value& graph) {
  const Value* status = statusOf(graph);
  const Value* metadata = lifecycle::metadataOf(graph);
  GraphSummary summary;
  summary.namespaceName = json::findText(metadata, "namespace");
  summary.name = lifecycle::nameOf(graph);
  summary.created = parseTime(json::findText(metadata, "creationTimestamp"));
  summary.state = json::findText(status, "state");
  summary.replicas = replicasOf(graph);
  const Value* ready = lifecycle::findCondition(status, lifecycle::condition::kReady);
  summary.status = json::findText(ready, "status");
  summary.reason = json::findText(ready, "reason");
  summary.message = json::findText(ready, "message");
  if (lifecycle::isBeingDeleted(graph)) {
    summary.state = "deleting";
    summary.deleting = true;
    summary.message = "is being deleted";
  } else if (!isRefused(ready, graph) && (!isCurrent(status, graph) || !isCurrent(ready, graph))) {
    summary.message = "its controller has not observed the latest spec";
  } else if (ready == nullptr) {
    summary.message = "its controller has not reported a status";
  } else {
    summary.observed = true;
    summary.ready = lifecycle::isTrue(ready);
  }
  if (const Value* rolling = json::findObject(status, "rollingUpdate")) {
    summary.rollingUpdate = RollingUpdateStatus{
        std::string{json::findText(rolling, "phase")}, parseTime(json::findText(rolling, "startTime")),
        parseTime(json::findText(rolling, "endTime")), textsOf(json::find(rolling, "updatedServices"))};
  }
  if (const Value* restart = json::findObject(status, "restart")) {
    summary.restart = RestartStatus{std::string{json::findText(restart, "phase")},
                                    std::string{json::findText(restart, "observedID")},
                                    textsOf(json::find(restart, "inProgress"))};
  }
  return summary;
}

}  // namespace dynamo::view
