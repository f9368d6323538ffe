#include "common/lifecycle/checkpoint.h"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/job_pods.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/notices.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/pod_failures.h"
#include "common/render/checkpoint.h"
#include "common/render/checkpoint_job.h"
#include "common/render/hash.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

namespace phase {
constexpr std::string_view kPending = "Pending";
constexpr std::string_view kCreating = "Creating";
constexpr std::string_view kReady = "Ready";
constexpr std::string_view kFailed = "Failed";
}  // namespace phase

constexpr std::string_view kCreationFailed = "JobCreationFailed";

std::string_view phaseOf(const Value& checkpoint) {
  return json::findText(statusOf(checkpoint), "phase");
}

bool isCreating(const Value& checkpoint) {
  return phaseOf(checkpoint) == phase::kCreating;
}

/// Whether the spec has changed since the Job failed. A status of the reference does not say which spec it
/// describes.
bool isRetried(const Value& checkpoint) {
  const Value* completed = findCondition(statusOf(checkpoint), condition::kJobCompleted);
  const std::int64_t failed = numberAt(completed, "observedGeneration", 0);
  return phaseOf(checkpoint) == phase::kFailed && failed > 0 && failed < generationOf(checkpoint);
}

bool isOver(const Value& checkpoint) {
  const std::string_view now = phaseOf(checkpoint);
  return now == phase::kReady || (now == phase::kFailed && !isRetried(checkpoint));
}

/// Whether the status names a Job that is gone. This is told before another one is created.
bool lostItsJob(const Value& checkpoint, const Value* job) {
  return job == nullptr && isCreating(checkpoint) && !json::findText(statusOf(checkpoint), "jobName").empty();
}

/// Whether the Job tells nothing about the checkpoint. One that has ended tells how, also while it is
/// deleted.
bool isGone(const Value& checkpoint, const Value* job) {
  if (job == nullptr) return true;
  const bool hasEnded = jobState(*job) != JobState::Running;
  return isBeingDeleted(*job) && !(hasEnded && isCreating(checkpoint));
}

/// The container of the Job that is checkpointed.
std::string_view mainContainerOf(const Value& job) {
  const Value* pod = json::findObject(json::findObject(specOf(job), "template"), "spec");
  const Value* containers = json::find(pod, "containers");
  if (containers == nullptr || !containers->IsArray() || containers->Empty()) return {};
  const Value* main = json::findNamed(containers, api::kMainContainer);
  return json::findText(main != nullptr ? main : containers->Begin(), "name");
}

class Checkpoint {
 public:
  Checkpoint(const Value& checkpoint, const Applied& applied, const render::Context& context, Time now,
             Allocator& allocator)
      : checkpoint_(checkpoint),
        applied_(applied),
        config_(context.config.checkpoint),
        now_(now),
        make_(allocator),
        stored_(statusOf(checkpoint)),
        status_(stored_ == nullptr ? make_.object() : make_.value(*stored_)),
        hash_(render::checkpointHash(checkpoint)),
        job_(findControlled(applied.objects, "Job", checkpoint)),
        jobGeneration_(jobGeneration()) {
    // The identity may have changed after the Job was created.
    if (job_ == nullptr || isCreating(checkpoint) || isOver(checkpoint)) return;
    const std::string_view made = labelOf(*job_, api::label::kCheckpointHash);
    if (!made.empty() && !isRetried(checkpoint)) hash_ = made;
  }

  /// `prevented`: what has failed may change without a change of the checkpoint.
  Outcome run(std::vector<Ending> failures, bool prevented) {
    addLabel();
    if (!isOver(checkpoint_)) {
      make_.set(status_, "identityHash", hash_);
      if (isRetried(checkpoint_)) {
        beginAgain();
      } else if (const std::string problems = permanentFailures(failures); !problems.empty()) {
        refused(problems);
        if (prevented) {  // the condition tells it, and it is no error of the reconcile
          outcome_.requeueAfter = kPreventedAgain;
          outcome_.prevented = true;
          failures.clear();
        }
      } else if (lostItsJob(checkpoint_, job_)) {
        lost();
      } else if (isGone(checkpoint_, job_)) {
        waits(waitsOf(failures));
      } else {
        follow();
      }
      setStatus(outcome_, checkpoint_, std::move(status_));
    }
    reportForeign(applied_.notices, outcome_);
    outcome_.failures = std::move(failures);
    return std::move(outcome_);
  }

 private:
  /// Graphs find a checkpoint by this label (decision ctl-Q12).
  void addLabel() {
    if (hash_.empty() || labelOf(checkpoint_, api::label::kCheckpointHash) == hash_) return;
    Value labels = make_.object(api::label::kCheckpointHash, hash_);
    outcome_.writes.push_back(
        patchOf(checkpoint_, make_.object("metadata", make_.object("labels", std::move(labels)))));
  }

  void set(std::string_view type, ConditionStatus status, std::string_view reason, std::string message) {
    setCondition(status_, {type, status, reason, std::move(message)}, generationOf(checkpoint_), now_,
                 make_.allocator());
  }

  /// Sets a condition about the Job, which has the spec of the generation that it was created with.
  void setOfJob(std::string_view type, ConditionStatus status, std::string_view reason, std::string message) {
    setCondition(status_, {type, status, reason, std::move(message)}, jobGeneration_, now_,
                 make_.allocator());
  }

  /// The generation of the spec when the Job was created. A status of the reference does not say it.
  std::int64_t jobGeneration() const {
    const Value* created = findCondition(stored_, condition::kJobCreated);
    const bool known = isCreating(checkpoint_) && isTrue(created);
    const std::int64_t then = known ? numberAt(created, "observedGeneration", 0) : 0;
    return then > 0 ? then : generationOf(checkpoint_);
  }

  void becomePending() {
    make_.set(status_, "phase", phase::kPending);
    json::remove(status_, "jobName");
    json::remove(status_, "message");
    removeCondition(status_, condition::kJobCompleted);
  }

  void beginAgain() {
    if (job_ != nullptr && !isBeingDeleted(*job_)) outcome_.writes.push_back(deletionOf(*job_));
    becomePending();
    set(condition::kJobCreated, ConditionStatus::False, "SpecChanged",
        "The spec has changed after the checkpoint job failed: a new one is created");
    outcome_.requeueAfter = std::chrono::milliseconds{0};
  }

  void lost() {
    const std::string_view name = json::findText(stored_, "jobName");
    set(condition::kJobCreated, ConditionStatus::False, "JobDeleted",
        fmt::format("Checkpoint job {} was deleted", name));
    becomePending();
    outcome_.requeueAfter = std::chrono::milliseconds{0};
  }

  void refused(const std::string& problems) {
    becomePending();
    const std::string message = "Failed to create the checkpoint job: " + problems;
    if (isNewFailure(findCondition(stored_, condition::kJobCreated), message))
      outcome_.events.push_back(warning(kCreationFailed, problems));
    make_.set(status_, "message", shortened(message, kMaxConditionMessage));
    set(condition::kJobCreated, ConditionStatus::False, kCreationFailed, message);
  }

  /// There is no Job yet, or the one that exists is being deleted. Its event triggers the next reconcile.
  void waits(const std::string& why) {
    becomePending();
    if (!why.empty()) make_.set(status_, "message", shortened(why, kMaxConditionMessage));
  }

  void follow() {
    const std::string_view name = nameOf(*job_);
    make_.set(status_, "jobName", name);
    setOfJob(condition::kJobCreated, ConditionStatus::True, "JobCreated",
             fmt::format("Checkpoint job {} created", name));
    switch (jobState(*job_)) {
      case JobState::Complete:
        return complete();
      case JobState::Failed:
        return fail();
      case JobState::Running:
        return create();
    }
  }

  void create() {
    make_.set(status_, "phase", phase::kCreating);
    std::vector<const Value*> pods;
    std::vector<const Value*> events;
    for (const Value* object : applied_.objects) {
      if (isPodOfJob(*object, *job_)) pods.push_back(object);
      if (json::findText(object, "kind") == "Event") events.push_back(object);
    }
    PodFailures failures = podFailures(pods, now_);
    addMissingPods(failures, *job_, pods, events, now_);
    outcome_.requeueAfter = failures.requeueAfter;
    const std::string text = shortened(textOf(failures.causes), kMaxConditionMessage);
    reportNewCauses(failures.causes, json::findText(stored_, "message"), text, outcome_);
    if (text.empty()) {
      json::remove(status_, "message");
    } else {
      make_.set(status_, "message", text);
    }
  }

  void complete() {
    const std::string location = render::checkpointLocation(config_, hash_);
    const std::string message = "Checkpoint job completed, available at " + location;
    const auto completed = parseTime(json::findText(statusOf(*job_), "completionTime"));
    make_.set(status_, "phase", phase::kReady);
    make_.set(status_, "createdAt", formatTime(completed.value_or(now_)));
    make_.set(status_, "location", location);
    make_.set(status_, "storageType", config_.storageType);
    json::remove(status_, "message");
    setOfJob(condition::kJobCompleted, ConditionStatus::True, "JobSucceeded", message);
    outcome_.events.push_back(normal("CheckpointReady", message));
  }

  void fail() {
    const std::string message =
        "Checkpoint job failed: " + jobFailure(*job_, mainContainerOf(*job_), applied_.objects);
    make_.set(status_, "phase", phase::kFailed);
    make_.set(status_, "message", shortened(message, kMaxConditionMessage));
    setOfJob(condition::kJobCompleted, ConditionStatus::False, "JobFailed", message);
    if (jobGeneration_ < generationOf(checkpoint_)) outcome_.requeueAfter = std::chrono::milliseconds{0};
    outcome_.events.push_back(warning("CheckpointFailed", message));
  }

  const Value& checkpoint_;
  const Applied& applied_;
  const config::CheckpointConfig& config_;
  Time now_;
  json::Maker make_;
  const Value* stored_;
  Value status_;
  std::string hash_;
  const Value* job_;
  std::int64_t jobGeneration_;
  Outcome outcome_;
};

}  // namespace

bool followsJob(const Value& checkpoint) {
  return isCreating(checkpoint);
}

std::string unseenJobName(const Value& checkpoint) {
  if (phaseOf(checkpoint).empty() || isOver(checkpoint)) return "";
  const std::string_view told = json::findText(statusOf(checkpoint), "jobName");
  if (!told.empty()) return std::string{told};
  return fmt::format("{}{}", render::kCheckpointJobPrefix, nameOf(checkpoint));
}

render::Children checkpointChildren(const Value& checkpoint, Observed observed,
                                    const render::Context& context) {
  const Value* job = findControlled(observed, "Job", checkpoint);
  if (job != nullptr || isOver(checkpoint) || isRetried(checkpoint) || lostItsJob(checkpoint, job)) return {};
  render::Context online{context};
  online.online = true;
  return render::renderCheckpoint(checkpoint, online);
}

const Value* jobWhoseFailureIsTold(const Value& checkpoint, Observed observed) {
  const Value* job = findControlled(observed, "Job", checkpoint);
  const bool told = isGone(checkpoint, job) || isOver(checkpoint) || isRetried(checkpoint);
  return told || jobState(*job) != JobState::Failed ? nullptr : job;
}

Outcome checkpointOutcome(const Value& checkpoint, const render::Children& children, const Applied& applied,
                          const render::Context& context, Time now, Allocator& allocator) {
  std::vector<Ending> failures = allFailures(children, applied.failures);
  if (failures.empty() && !children.items.empty() &&
      findControlled(applied.objects, "Job", checkpoint) == nullptr) {
    // A Job is only created, so one that exists is no error of the write.
    const k8s::ObjectKey& job = children.items.front().key;
    if (isOfPredecessor(applied.objects, job, checkpoint)) {
      failures.emplace_back(LookAgain{
          k8s::toText(job) + " belongs to an earlier checkpoint or is being deleted: it is awaited"});
    } else {
      failures.emplace_back(Permanent{k8s::toText(job) + " exists and does not belong to this checkpoint"});
    }
  }
  const bool prevented = children.errors.empty() && !isInvalid(failures);
  return Checkpoint{checkpoint, applied, context, now, allocator}.run(std::move(failures), prevented);
}

}  // namespace dynamo::lifecycle
