#include "common/lifecycle/checkpoint.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/build.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/job_pods.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/owner.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/removal.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {
namespace {

/// How often a Job is looked at that the watch does not see.
constexpr std::chrono::seconds kJobAgain{15};

void putItems(Observed& observed, json::Document& list, std::string_view kind) {
  for (const json::Value* item : itemsOf(list, kind)) observed.putCopy(*item);
}

/// The Job of this name if the checkpoint controls it; null if there is none.
runtime::Task<std::variant<json::Document, lifecycle::Ending>> readOwnJob(Environment& environment,
                                                                          const json::Document& checkpoint,
                                                                          std::string name) {
  k8s::ObjectKey key = keyIn(resourceOf("batch", "Job"), lifecycle::namespaceOf(checkpoint), name);
  auto found = co_await readObject(environment, std::move(key));
  const auto* job = std::get_if<json::Document>(&found);
  if (job == nullptr || job->IsNull() || lifecycle::isControlledBy(*job, checkpoint)) co_return found;
  co_return json::Document{};
}

}  // namespace

runtime::Task<ReconcileResult> reconcileCheckpoint(Environment& environment, k8s::ObjectKey key) {
  const Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  const json::Document checkpoint = std::move(cached->object);
  json::Document memory;
  render::FactKeys lookedUp;

  if (const auto deletion = lifecycle::deletionOutcome(checkpoint, memory.GetAllocator())) {
    lifecycle::Ending ended = co_await carryOut(environment, checkpoint, *deletion, writer);
    co_return resultOf(*deletion, std::move(ended), {});
  }
  const render::Context context = environment.context(lookedUp);
  Observed observed = observeCheckpoint(environment.cache, checkpoint);
  const json::Value* ended = environment.endedJobs.find(checkpoint);
  if (ended != nullptr && lifecycle::findControlled(observed.values(), "Job", checkpoint) == nullptr)
    observed.putCopy(*ended);
  bool isUnseen = false;
  std::string name = lifecycle::unseenJobName(checkpoint);
  if (!name.empty() && lifecycle::findControlled(observed.values(), "Job", checkpoint) == nullptr) {
    auto found = co_await readOwnJob(environment, checkpoint, std::move(name));
    if (auto* failed = std::get_if<lifecycle::Ending>(&found))
      co_return ReconcileResult{.ending = std::move(*failed)};
    const json::Document& job = std::get<json::Document>(found);
    isUnseen = !job.IsNull();
    if (isUnseen) observeJob(environment.cache, job, observed);
  }
  if (const json::Value* job = lifecycle::jobWhoseFailureIsTold(checkpoint, observed.values())) {
    auto pods = co_await listPodsOf(environment, *job);
    if (auto* failed = std::get_if<lifecycle::Ending>(&pods))
      co_return ReconcileResult{.ending = std::move(*failed)};
    putItems(observed, std::get<json::Document>(pods), "Pod");
  }
  if (const json::Value* job = lifecycle::findControlled(observed.values(), "Job", checkpoint)) {
    const std::vector<const json::Value*> pods = observed.values();
    auto events = co_await readFailedCreates(environment, *job, pods);
    if (auto* failed = std::get_if<lifecycle::Ending>(&events))
      co_return ReconcileResult{.ending = std::move(*failed)};
    putItems(observed, std::get<json::Document>(events), "Event");
  }
  const render::Children children = lifecycle::checkpointChildren(checkpoint, observed.values(), context);
  std::optional<ReconcileResult> stale = co_await checkOwner(environment, checkpoint, children, observed);
  if (stale) co_return std::move(*stale);
  const Finish finish = [&](const lifecycle::Applied& applied) {
    return lifecycle::checkpointOutcome(checkpoint, children, applied, context, environment.now(),
                                        memory.GetAllocator());
  };
  ReconcileResult result =
      co_await applyAndFinish(environment, checkpoint, children, observed, finish, writer, lookedUp);
  if (isUnseen) lifecycle::requeueWithin(result.requeueAfter, kJobAgain);
  co_return result;
}

}  // namespace dynamo::controller
