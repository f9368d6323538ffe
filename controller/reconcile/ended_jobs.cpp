#include "controller/reconcile/ended_jobs.h"

#include <optional>
#include <string_view>

#include "common/api/kinds.h"
#include "common/lifecycle/checkpoint.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;
using kube::Change;

std::pair<std::string, std::string> keyOfOwner(const Value& object, std::string_view uid) {
  return {std::string{lifecycle::namespaceOf(object)}, std::string{uid}};
}

bool isOwnerKind(std::string_view kind) {
  return kind == api::kDynamoCheckpoint || kind == api::kDynamoGraphDeploymentRequest;
}

/// Whether a checkpoint or a request is going to tell how its Job ends.
bool follows(const Value& owner) {
  return json::findText(&owner, "kind") == api::kDynamoCheckpoint
             ? lifecycle::followsJob(owner)
             : lifecycle::requestStep(owner) == lifecycle::RequestStep::FollowJob;
}

/// Whether an object of the cache controls the Job and follows it.
bool isFollowed(const Value& job, const kube::Cache& cache) {
  const Value* controller = lifecycle::controllerOf(job);
  const std::string_view kind = json::findText(controller, "kind");
  if (!isOwnerKind(kind)) return false;
  const std::optional<kube::Cached> owner = cache.find(
      keyIn(resourceOf(api::kGroup, kind), lifecycle::namespaceOf(job), json::findText(controller, "name")));
  return owner && lifecycle::isControlledBy(job, owner->object) && follows(owner->object);
}

}  // namespace

void EndedJobs::changed(const Change& change, const kube::Cache& cache) {
  const bool deleted = change.kind == Change::Kind::Deleted;
  const Value& object = deleted ? *change.before : *change.now;
  if (isOwnerKind(change.key.kind)) {
    if (deleted || !follows(object)) byOwner_.erase(keyOfOwner(object, lifecycle::uidOf(object)));
    return;
  }
  if (change.key.kind != "Job" || change.key.group != "batch") return;
  const auto key = keyOfOwner(object, json::findText(lifecycle::controllerOf(object), "uid"));
  byOwner_.erase(key);
  if (!deleted || lifecycle::jobState(object) == lifecycle::JobState::Running || !isFollowed(object, cache))
    return;
  json::Document& last = byOwner_[key];
  last.CopyFrom(object, last.GetAllocator());
}

const Value* EndedJobs::find(const Value& owner) const {
  const auto found = byOwner_.find(keyOfOwner(owner, lifecycle::uidOf(owner)));
  return found == byOwner_.end() ? nullptr : &found->second;
}

}  // namespace dynamo::controller
