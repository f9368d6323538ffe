#include "common/lifecycle/checkpoint.h"

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/build.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/job_pods.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/owner.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {
namespace {

void putCopy(Observed& observed, const json::Value& object) {
  kube::Cached read{.object = {}, .ownedFields = {}};
  read.object.CopyFrom(object, read.object.GetAllocator());
  observed.put(std::move(read));
}

void putItems(Observed& observed, json::Document& list, std::string_view kind) {
  for (const json::Value* item : itemsOf(list, kind)) putCopy(observed, *item);
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
    putCopy(observed, *ended);
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
  co_return co_await applyAndFinish(environment, checkpoint, children, observed, finish, writer, lookedUp);
}

}  // namespace dynamo::controller
