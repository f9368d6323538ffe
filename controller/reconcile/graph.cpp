#include "common/api/kinds.h"
#include "common/lifecycle/deletion.h"
#include "common/lifecycle/reconcile.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/owner.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {

runtime::Task<ReconcileResult> reconcileGraph(Environment& environment, k8s::ObjectKey key) {
  const Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  const json::Document graph = std::move(cached->object);
  json::Document memory;
  render::FactKeys lookedUp;

  if (const auto deletion = lifecycle::deletionOutcome(graph, memory.GetAllocator())) {
    lifecycle::Ending ended = co_await carryOut(environment, graph, *deletion, writer);
    co_return resultOf(*deletion, std::move(ended), {});
  }
  const render::Context context = environment.context(lookedUp);
  Observed observed = observeGraph(environment.cache, graph);
  lifecycle::GraphReconcile plan = lifecycle::planGraphReconcile(graph, observed.values(), context,
                                                                 environment.now(), memory.GetAllocator());
  lifecycle::withholdChildren(graph, plan);
  std::optional<ReconcileResult> stale = co_await checkOwner(environment, graph, plan.children, observed);
  if (stale) co_return std::move(*stale);
  const Finish finish = [&](const lifecycle::Applied& applied) {
    return lifecycle::finishGraphReconcile(graph, plan, applied, context, environment.now(),
                                           memory.GetAllocator());
  };
  co_return co_await applyAndFinish(environment, graph, plan.children, observed, finish, writer, lookedUp);
}

}  // namespace dynamo::controller
