#include "common/lifecycle/scaling_adapter.h"

#include "common/api/kinds.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/outcome.h"
#include "controller/reconcile/reconcilers.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {

runtime::Task<ReconcileResult> reconcileScalingAdapter(Environment& environment, k8s::ObjectKey key) {
  const Writer writer = writerOf(key);
  std::optional<kube::Cached> cached = environment.cache.find(key);
  if (!cached || lifecycle::isBeingDeleted(cached->object)) co_return ReconcileResult{};
  const json::Document adapter = std::move(cached->object);
  json::Document memory;

  k8s::ObjectKey graphKey = key;
  graphKey.kind = api::kDynamoGraphDeployment;
  graphKey.name = json::findText(json::findObject(lifecycle::specOf(adapter), "dgdRef"), "name");
  const std::optional<kube::Cached> graph = environment.cache.find(graphKey);
  const lifecycle::Outcome outcome = lifecycle::adapterOutcome(adapter, graph ? &graph->object : nullptr,
                                                               environment.config.compatibilityAutoscaling,
                                                               environment.now(), memory.GetAllocator());
  lifecycle::Ending ended = co_await carryOut(environment, adapter, outcome, writer);
  if (isDone(ended)) co_return resultOf(outcome, std::move(ended), {});
  reportPersistent(environment, key, {&ended, 1});
  const lifecycle::Outcome report =
      lifecycle::adapterFailure(adapter, ended, environment.now(), memory.GetAllocator());
  co_await carryOut(environment, adapter, report, writer);
  co_return resultOf(report, std::move(ended), {});
}

}  // namespace dynamo::controller
