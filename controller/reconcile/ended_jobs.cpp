#include "controller/reconcile/ended_jobs.h"

#include <optional>
#include <string_view>

#include "common/api/kinds.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using json::Value;
using kube::Change;

/// Whether a checkpoint or a request of the cache controls the Job.
bool hasOwner(const Value& job, const kube::Cache& cache) {
  const Value* controller = lifecycle::controllerOf(job);
  const std::string_view kind = json::findText(controller, "kind");
  if (kind != api::kDynamoCheckpoint && kind != api::kDynamoGraphDeploymentRequest) return false;
  const std::optional<kube::Cached> owner = cache.find(
      keyIn(resourceOf(api::kGroup, kind), lifecycle::namespaceOf(job), json::findText(controller, "name")));
  return owner && lifecycle::isControlledBy(job, owner->object);
}

}  // namespace

void EndedJobs::changed(const Change& change, const kube::Cache& cache) {
  const bool deleted = change.kind == Change::Kind::Deleted;
  if (change.key.kind == api::kDynamoCheckpoint || change.key.kind == api::kDynamoGraphDeploymentRequest) {
    if (deleted) forget(*change.before);
    return;
  }
  if (change.key.kind != "Job" || change.key.group != "batch") return;
  const Value& job = deleted ? *change.before : *change.now;
  const std::string owner{json::findText(lifecycle::controllerOf(job), "uid")};
  byOwner_.erase(owner);
  if (!deleted || lifecycle::jobState(job) == lifecycle::JobState::Running || !hasOwner(job, cache)) return;
  json::Document& last = byOwner_[owner];
  last.CopyFrom(job, last.GetAllocator());
}

const Value* EndedJobs::find(const Value& owner) const {
  const auto found = byOwner_.find(lifecycle::uidOf(owner));
  return found == byOwner_.end() ? nullptr : &found->second;
}

void EndedJobs::forget(const Value& owner) {
  byOwner_.erase(std::string{lifecycle::uidOf(owner)});
}

}  // namespace dynamo::controller
