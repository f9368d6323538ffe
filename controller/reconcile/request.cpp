#include "controller/reconcile/request_reconcile.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/failures.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

using lifecycle::RequestStep;

Task<ReconcileResult> RequestReconcile::run() {
  switch (lifecycle::requestStep(request_)) {
    case RequestStep::Nothing: {
      Outcome result = status().over();
      co_return co_await finish(std::move(result));
    }
    case RequestStep::Validate:
      co_return co_await validate();
    case RequestStep::CreateJob:
      co_return co_await createJob();
    case RequestStep::FollowJob:
      co_return co_await followJob();
    case RequestStep::CreateGraph:
      co_return co_await createGraph();
    case RequestStep::FollowGraph:
      co_return co_await followGraph();
    case RequestStep::KeepGraph: {
      Outcome result = status().notApplied();
      co_return co_await finish(std::move(result));
    }
    case RequestStep::Fail:
      break;
  }
  Outcome result = status().unknownPhase();
  co_return co_await finish(std::move(result));
}

Task<ReconcileResult> RequestReconcile::finish(Outcome outcome) {
  Ending ended = co_await carryOut(environment_, request_, outcome, writer_);
  reportPersistent(environment_, k8s::keyOf(request_), {&ended, 1});
  co_return resultOf(outcome, std::move(ended), std::move(lookedUp_));
}

render::Children RequestReconcile::profiling() {
  render::Context context = environment_.context(lookedUp_);
  context.online = true;
  context.hardware = hardware_.hardware;
  return render::renderProfiling(request_, context);
}

Task<ReconcileResult> RequestReconcile::notDiscovered(Ending why) {
  reportPersistent(environment_, k8s::keyOf(request_), {&why, 1});
  Outcome result = status().notDiscovered(std::move(why));
  co_return co_await finish(std::move(result));
}

Task<ReconcileResult> RequestReconcile::validate() {
  // An earlier spec may have a Job already. Templates of Jobs cannot be changed.
  if (const std::optional<kube::Cached> earlier = ownJob();
      earlier && !lifecycle::isObserved(request_) &&
      lifecycle::numberAt(lifecycle::statusOf(request_), "observedGeneration", 0) > 0) {
    kube::Preconditions same;
    same.uid = lifecycle::uidOf(earlier->object);
    const kube::Resource& jobs = resourceOf("batch", "Job");
    Ending removed = co_await removeObject(environment_, jobs, jobKey(), same, writer_.name);
    if (!isDone(removed)) co_return ReconcileResult{.ending = std::move(removed)};
  }
  Ending discovered = co_await discoverHardware(environment_, request_, hardware_);
  if (!isDone(discovered)) co_return co_await notDiscovered(std::move(discovered));
  const Value* cache = json::findObject(lifecycle::specOf(request_), "modelCache");
  const std::string_view claim = json::findText(cache, "pvcName");
  const k8s::ObjectKey key = keyIn(resourceOf("", "PersistentVolumeClaim"), space(), claim);
  bool hasClaim = environment_.cache.contains(key);
  if (!claim.empty() && !hasClaim) {
    // The cache may lack a claim that was created a moment ago, and the failure would be final.
    auto found = co_await read(key);
    if (auto* failed = std::get_if<Ending>(&found)) co_return ReconcileResult{.ending = std::move(*failed)};
    hasClaim = !std::get<Document>(found).IsNull();
  }
  std::vector<std::string> problems =
      lifecycle::requestProblems(request_, profiling(), hasClaim, hardware_.problem);
  if (std::string problem = namespaceProblem(); !problem.empty()) problems.push_back(std::move(problem));
  Outcome result = problems.empty() ? status().accepted(hardware_.found) : status().invalid(problems);
  co_return co_await finish(std::move(result));
}

std::string RequestReconcile::namespaceProblem() const {
  return lifecycle::graphNamespaceProblem(request_, environment_.config.graphMayBeElsewhere());
}

k8s::ObjectKey RequestReconcile::jobKey() const {
  return keyIn(resourceOf("batch", "Job"), space(), nameWith(api::dgdr::kProfilingJobPrefix));
}

k8s::ObjectKey RequestReconcile::outputKey() const {
  return keyIn(resourceOf("", "ConfigMap"), space(), nameWith(api::dgdr::kOutputConfigMapPrefix));
}

std::optional<kube::Cached> RequestReconcile::ownJob() const {
  std::optional<kube::Cached> job = environment_.cache.find(jobKey());
  if (!job || !lifecycle::isControlledBy(job->object, request_)) return std::nullopt;
  return job;
}

Task<std::variant<Document, Ending>> RequestReconcile::read(k8s::ObjectKey key) {
  return readObject(environment_, std::move(key));
}

Task<ReconcileResult> reconcileRequest(Environment& environment, k8s::ObjectKey key) {
  Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  const Document request = std::move(cached->object);
  Document memory;
  if (const auto deletion = lifecycle::deletionOutcome(request, memory.GetAllocator())) {
    Ending ended = co_await carryOut(environment, request, *deletion, writer);
    co_return resultOf(*deletion, std::move(ended), {});
  }
  RequestReconcile reconcile{environment, request, std::move(writer)};
  co_return co_await reconcile.run();
}

}  // namespace dynamo::controller
