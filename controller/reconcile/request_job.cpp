#include "controller/reconcile/request_reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/job_pods.h"
#include "common/lifecycle/job_status.h"
#include "common/lifecycle/notices.h"
#include "controller/reconcile/job_pods.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

using lifecycle::Done;

namespace {

/// How often the pods of a Job that does not get going are read.
constexpr std::chrono::seconds kPodsAgain{15};

}  // namespace

std::string RequestReconcile::profilingRole() const {
  return environment_.config.restricted() ? std::string{}
                                          : environment_.config.rbac.dgdrProfilingClusterRoleName;
}

Task<std::variant<bool, Ending>> RequestReconcile::hasProfilingRole() {
  static const kube::Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
  const std::string name = profilingRole();
  if (name.empty()) co_return true;
  const std::string space;  // it is cluster-scoped
  auto got = co_await environment_.client.get(kRoles, space, name);
  const auto* error = std::get_if<kube::ApiError>(&got);
  if (error == nullptr) co_return true;
  if (error->reason == kube::Reason::NotFound) co_return false;
  if (error->reason == kube::Reason::Forbidden) co_return true;
  co_return failureOf({kRoles.group, kRoles.version, kRoles.kind, "", name}, *error);
}

Task<Ending> RequestReconcile::removeEarlierOutput() {
  auto found = co_await read(outputKey());
  if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
  const Document& output = std::get<Document>(found);
  const std::string_view of = lifecycle::labelOf(output, api::dgdr::kTrackingLabels[0]);
  if (output.IsNull() || of != lifecycle::nameOf(request_)) co_return Done{};
  kube::Preconditions same;
  same.uid = lifecycle::uidOf(output);
  co_return co_await removeObject(environment_, resourceOf("", "ConfigMap"), outputKey(), same, writer_.name);
}

Task<ReconcileResult> RequestReconcile::createJob() {
  // The controller may have ended before it wrote the status. The Job was created after all that it needs.
  if (const auto job = ownJob(); job && !lifecycle::isBeingDeleted(job->object)) {
    Outcome result = status().jobCreated(lifecycle::nameOf(job->object));
    co_return co_await finish(std::move(result));
  }
  if (const std::string problem = namespaceProblem(); !problem.empty()) {
    Outcome result = status().jobRefused(problem);
    co_return co_await finish(std::move(result));
  }
  Observed observed;
  for (kube::Cached& owned : environment_.cache.ownedBy(space(), lifecycle::uidOf(request_)))
    observed.put(std::move(owned));
  Ending discovered = co_await discoverHardware(environment_, request_, hardware_);
  if (!isDone(discovered)) co_return co_await notDiscovered(std::move(discovered));
  if (!hardware_.problem.empty()) {  // what was found earlier is gone
    Outcome result = status().jobWaits(hardware_.problem, false);
    co_return co_await finish(std::move(result));
  }
  if (observed.find(jobKey()) == nullptr) {
    auto role = co_await hasProfilingRole();
    if (auto* failed = std::get_if<Ending>(&role)) co_return ReconcileResult{.ending = std::move(*failed)};
    if (!std::get<bool>(role)) {
      const std::string why =
          fmt::format("ClusterRole {} does not exist: without it the output of the profiler cannot be stored",
                      profilingRole());
      Outcome result = status().jobWaits(why);
      co_return co_await finish(std::move(result));
    }
    Ending removed = co_await removeEarlierOutput();
    if (!isDone(removed)) {
      reportPersistent(environment_, k8s::keyOf(request_), {&removed, 1});
      const bool persists = lifecycle::mustLookAgain(removed) || isPermanent(removed);
      if (!persists) co_return ReconcileResult{.ending = std::move(removed)};
      // Finalizers of others keep it, or this operator may not delete it.
      Outcome result = status().jobWaits(messageOf(removed));
      co_return co_await finish(std::move(result));
    }
  }
  const render::Children children = profiling();
  const Finish decide = [&](const lifecycle::Applied& applied) {
    Outcome outcome = jobWritten(children, applied);
    lifecycle::reportForeign(applied.notices, outcome);
    return outcome;
  };
  co_return co_await applyAndFinish(environment_, request_, children, observed, decide, writer_, lookedUp_);
}

Outcome RequestReconcile::jobWritten(const render::Children& children, const lifecycle::Applied& applied) {
  std::vector<Ending> failures = lifecycle::allFailures(children, applied.failures);
  const std::string problems = lifecycle::permanentFailures(failures);
  if (!problems.empty()) {
    const bool final = !children.errors.empty() || lifecycle::isInvalid(failures);
    return final ? status().jobRefused(problems) : status().jobWaits(problems);
  }
  const Value* job = lifecycle::findControlled(applied.objects, "Job", request_);
  if (job != nullptr && !lifecycle::isBeingDeleted(*job) && failures.empty())
    return status().jobCreated(lifecycle::nameOf(*job), hardware_.found);
  // A Job is only created, so one that exists is no error of the write.
  if (job == nullptr && failures.empty() && !lifecycle::isOfPredecessor(applied.objects, jobKey(), request_))
    return status().jobWaits(
        fmt::format("{} exists and does not belong to this request", k8s::toText(jobKey())));
  Outcome outcome;
  outcome.failures = std::move(failures);
  outcome.requeueAfter = kLateAgain;
  return outcome;
}

Task<ReconcileResult> RequestReconcile::followJob() {
  Document job;
  if (const auto cached = ownJob()) {
    job.CopyFrom(cached->object, job.GetAllocator());
  } else {
    auto found = co_await read(jobKey());
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    job = std::move(std::get<Document>(found));
  }
  if (job.IsNull() || !lifecycle::isControlledBy(job, request_)) {
    const Value* ended = environment_.endedJobs.find(request_);
    if (ended == nullptr) co_return co_await jobIsGone();
    job.CopyFrom(*ended, job.GetAllocator());
  }
  switch (lifecycle::jobState(job)) {
    case lifecycle::JobState::Running:
      co_return co_await jobRuns(job);
    case lifecycle::JobState::Failed:
      co_return co_await jobFailed(job);
    case lifecycle::JobState::Complete:
      break;
  }
  co_return co_await readOutput(job);
}

Task<ReconcileResult> RequestReconcile::jobIsGone() {
  // The Job may have succeeded, and may have been collected while the controller was away.
  auto output = co_await read(outputKey());
  if (auto* failed = std::get_if<Ending>(&output)) co_return ReconcileResult{.ending = std::move(*failed)};
  const Document& configMap = std::get<Document>(output);
  if (!configMap.IsNull()) co_return co_await takeOutput(configMap);
  if (lifecycle::mayBeLate(request_, environment_.now())) co_return again(kLateAgain);
  Outcome result = status().profilingFailed(fmt::format("{} does not exist any more", k8s::toText(jobKey())));
  co_return co_await finish(std::move(result));
}

Task<ReconcileResult> RequestReconcile::jobRuns(const Document& job) {
  lifecycle::PodFailures failures;
  const bool ready = lifecycle::countAt(lifecycle::statusOf(job), "ready") > 0;
  if (!ready) {
    auto found = co_await listPodsOf(environment_, job);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    std::vector<const Value*> pods = itemsOf(std::get<Document>(found), "Pod");
    std::erase_if(pods, [&](const Value* pod) { return !lifecycle::isPodOfJob(*pod, job); });
    std::string missing;
    if (lifecycle::awaitsCopier(pods)) {
      const auto role = co_await hasProfilingRole();
      if (const auto* has = std::get_if<bool>(&role); has != nullptr && !*has) missing = profilingRole();
    }
    failures = lifecycle::profilingPodFailures(pods, missing, environment_.now());
    auto events = co_await readFailedCreates(environment_, job, pods);
    if (auto* failed = std::get_if<Ending>(&events)) co_return ReconcileResult{.ending = std::move(*failed)};
    lifecycle::addMissingPods(failures, job, pods, itemsOf(std::get<Document>(events), "Event"),
                              environment_.now());
    lifecycle::requeueWithin(failures.requeueAfter, kPodsAgain);
  }
  Outcome outcome = status().jobRuns(failures);
  // Without its label, the watch does not tell its end.
  if (!ownJob()) lifecycle::requeueWithin(outcome.requeueAfter, kPodsAgain);
  if (lifecycle::mayRepeat(request_, job)) {
    auto found = co_await read(outputKey());
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    if (!lifecycle::toldError(std::get<Document>(found)).empty())
      outcome.writes.push_back(lifecycle::patchOf(job, lifecycle::withoutRetries(allocator())));
  }
  co_return co_await finish(std::move(outcome));
}

Task<ReconcileResult> RequestReconcile::jobFailed(const Document& job) {
  auto found = co_await listPodsOf(environment_, job);
  if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
  const std::vector<const Value*> pods = itemsOf(std::get<Document>(found), "Pod");
  auto output = co_await read(outputKey());
  if (auto* failed = std::get_if<Ending>(&output)) co_return ReconcileResult{.ending = std::move(*failed)};
  const std::string_view told = lifecycle::toldError(std::get<Document>(output));
  const std::string how = lifecycle::jobFailure(job, api::dgdr::kProfiler, pods);
  Outcome result = status().profilingFailed(told.empty() ? how : fmt::format("{}: {}", told, how));
  co_return co_await finish(std::move(result));
}

}  // namespace dynamo::controller
