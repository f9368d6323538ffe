#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "common/api/kinds.h"
#include "common/lifecycle/checkpoint.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request_status.h"
#include "controller/view/checkpoint_users.h"
#include "controller/view/object_tree.h"

namespace dynamo::view {
namespace {

using json::Value;
using lifecycle::findCondition;
using lifecycle::parseTime;
using lifecycle::specOf;
using lifecycle::statusOf;
namespace phase = lifecycle::request_phase;

std::string textAt(const Value* object, std::string_view key) {
  return std::string{json::findText(object, key)};
}

std::optional<Time> createdAt(const Value& object) {
  return parseTime(json::findText(lifecycle::metadataOf(object), "creationTimestamp"));
}

std::optional<Time> transitionOf(const Value* status, std::string_view condition) {
  return parseTime(json::findText(findCondition(status, condition), "lastTransitionTime"));
}

/// The time of the last change of the status, of which managedFields keep a record.
std::optional<Time> lastStatusWrite(const Value& object) {
  const Value* entries = json::find(lifecycle::metadataOf(object), "managedFields");
  std::optional<Time> last;
  if (entries == nullptr || !entries->IsArray()) return last;
  for (const Value& entry : entries->GetArray()) {
    if (json::findText(&entry, "subresource") != "status") continue;
    const auto time = parseTime(json::findText(&entry, "time"));
    if (time && (!last || *last < *time)) last = time;
  }
  return last;
}

void setCondition(ObjectSummary& summary, const Value* condition) {
  summary.reason = json::findText(condition, "reason");
  summary.message = json::findText(condition, "message");
}

/// The condition with the cause of a failure. The reference operator writes no cause in Succeeded (decision
/// life-Q22): there it is in the condition of the last step that failed.
const Value* failureOf(const Value* status) {
  const Value* succeeded = findCondition(status, "Succeeded");
  if (json::findText(succeeded, "reason") != "Failed") return succeeded;
  for (const std::string_view step : {"DeploymentReady", "SpecGenerated", "Profiling", "Validation"}) {
    const Value* condition = findCondition(status, step);
    if (lifecycle::isFalse(condition)) return condition;
  }
  return succeeded;
}

/// The condition that describes a phase; nullptr: there is none. Profiling also says what a pending request
/// waits for.
const Value* conditionOf(const Value* status, std::string_view now) {
  if (now == phase::kFailed) return failureOf(status);
  const Value* described = nullptr;
  if (now == phase::kPending || now == phase::kProfiling) described = findCondition(status, "Profiling");
  if (now == phase::kDeploying) described = findCondition(status, "DeploymentReady");
  return described != nullptr ? described : findCondition(status, "Succeeded");
}

/// The conditions Succeeded and Profiling stay false from one phase to the next, so their times do not tell
/// when a phase began.
std::optional<Time> requestSince(const Value& request, std::string_view now,
                                 std::span<const Value* const> objects) {
  const Value* status = statusOf(request);
  if (now == phase::kPending) return createdAt(request);
  if (now == phase::kProfiling) {
    const Value* job = lifecycle::findControlled(objects, "Job", request);
    return job == nullptr ? std::nullopt : createdAt(*job);
  }
  if (now == phase::kDeploying)
    return std::max(transitionOf(status, "SpecGenerated"), transitionOf(status, "Succeeded"));
  if (now == phase::kFailed) return lastStatusWrite(request);
  return transitionOf(status, "Succeeded");
}

void fillRequest(ObjectSummary& summary, const Value& request, std::span<const Value* const> objects) {
  const Value* status = statusOf(request);
  const Value* spec = specOf(request);
  const std::string_view now = lifecycle::requestPhase(request);
  summary.phase = now;
  summary.ready = now == phase::kReady || now == phase::kDeployed;
  summary.since = requestSince(request, now, objects);
  setCondition(summary, conditionOf(status, now));
  summary.details = {
      {"profiling", "profilingPhase", textAt(status, "profilingPhase")},
      {"model", "model", textAt(spec, "model")},
      {"backend", "backend", textAt(spec, "backend")},
      {"graph", "graph", textAt(status, "dgdName")},
  };
}

void fillModel(ObjectSummary& summary, const Value& model) {
  const Value* status = statusOf(model);
  const Value* spec = specOf(model);
  const Value* ready = findCondition(status, "EndpointsReady");
  const Value* services = findCondition(status, "ServicesFound");
  summary.endpoints =
      Counts{lifecycle::countAt(status, "readyEndpoints"), lifecycle::countAt(status, "totalEndpoints")};
  const std::int64_t generation = lifecycle::generationOf(model);
  // That of EndpointsReady is an earlier one while pods may have another source (decision ctl-Q94).
  const std::int64_t loaded = lifecycle::numberAt(ready, "observedGeneration", generation);
  summary.ready = lifecycle::isTrue(ready) && loaded >= generation;
  summary.since = transitionOf(status, "EndpointsReady");
  setCondition(summary, lifecycle::isFalse(services) ? services : ready);
  summary.details = {
      {"type", "modelType", textAt(spec, "modelType")},
      {"model", "model", textAt(spec, "modelName")},
      {"base model", "baseModel", textAt(spec, "baseModelName")},
      {"source", "source", textAt(json::findObject(spec, "source"), "uri")},
  };
  const std::int64_t observed = lifecycle::numberAt(services, "observedGeneration", loaded);
  if (ready == nullptr || observed >= generation) return;
  summary.ready = false;
  summary.observed = false;
  summary.message = "its controller has not observed the latest spec";
}

void fillCheckpoint(ObjectSummary& summary, const Value& checkpoint, std::span<const Value* const> objects) {
  const Value* status = statusOf(checkpoint);
  const Value* identity = json::findObject(specOf(checkpoint), "identity");
  const Value* completed = findCondition(status, lifecycle::condition::kJobCompleted);
  const Value* created = findCondition(status, lifecycle::condition::kJobCreated);
  const Value* described = completed != nullptr ? completed : created;
  summary.phase = json::findText(status, "phase");
  summary.ready = summary.phase == "Ready";
  summary.since = described == nullptr ? createdAt(checkpoint)
                                       : parseTime(json::findText(described, "lastTransitionTime"));
  setCondition(summary, described);
  if (const std::string_view told = json::findText(status, "message"); !told.empty()) summary.message = told;
  std::vector<std::string> users;
  for (const CheckpointUser& user : usersOf(checkpoint, objects))
    users.emplace_back(lifecycle::nameOf(*user.graph));
  summary.details = {
      {"identity", "identityHash", identityHashOf(checkpoint)},
      {"model", "model", textAt(identity, "model")},
      {"backend", "backend", textAt(identity, "backendFramework")},
      {"location", "location", textAt(status, "location")},
      {"used by", "usedBy", fmt::format("{}", fmt::join(users, ", "))},
  };
}

}  // namespace

ObjectSummary summaryOfObject(const Value& object, std::span<const Value* const> objects) {
  ObjectSummary summary;
  summary.kind = json::findText(&object, "kind");
  summary.namespaceName = lifecycle::namespaceOf(object);
  summary.name = lifecycle::nameOf(object);
  summary.created = createdAt(object);
  summary.observed = true;
  if (summary.kind == api::kDynamoGraphDeploymentRequest) {
    fillRequest(summary, object, objects);
  } else if (summary.kind == api::kDynamoModel) {
    fillModel(summary, object);
  } else {
    fillCheckpoint(summary, object, objects);
  }
  if (lifecycle::isBeingDeleted(object)) {
    summary.ready = false;
    summary.deleting = true;
    summary.reason = "";
    summary.message = "is being deleted";
  } else if (summary.reason.empty() && summary.message.empty() && !summary.ready) {
    summary.observed = false;
    summary.message = "its controller has not reported a status";
  }
  return summary;
}

}  // namespace dynamo::view
