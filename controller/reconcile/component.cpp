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

runtime::Task<ReconcileResult> reconcileComponent(Environment& environment, k8s::ObjectKey key) {
  const Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached) co_return ReconcileResult{};
  const json::Document deployment = std::move(cached->object);
  json::Document memory;
  render::FactKeys lookedUp;

  if (const auto deletion = lifecycle::deletionOutcome(deployment, memory.GetAllocator())) {
    lifecycle::Ending ended = co_await carryOut(environment, deployment, *deletion, writer);
    co_return resultOf(*deletion, std::move(ended), {});
  }
  const render::Context context = environment.context(lookedUp);
  Observed observed = observeComponent(environment.cache, deployment);
  const lifecycle::ComponentReconcile plan =
      lifecycle::planComponentReconcile(deployment, observed.values(), context);
  std::optional<ReconcileResult> stale =
      co_await checkOwner(environment, deployment, plan.children, observed);
  if (stale) co_return std::move(*stale);
  const Finish finish = [&](const lifecycle::Applied& applied) {
    return lifecycle::finishComponentReconcile(deployment, plan, applied, context, environment.now(),
                                               memory.GetAllocator());
  };
  co_return co_await applyAndFinish(environment, deployment, plan.children, observed, finish, writer,
                                    lookedUp);
}

}  // namespace dynamo::controller
