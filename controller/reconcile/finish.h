#pragma once
// The second half of a reconcile of an object with children: it is the same for graphs and components.

#include <functional>
#include <span>

#include "common/json/value.h"
#include "common/lifecycle/reconcile.h"
#include "common/render/children.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/observed.h"
#include "controller/reconcile/outcome.h"

namespace dynamo::controller {

/// Computes the outcome from the children after their writes.
using Finish = std::function<lifecycle::Outcome(const lifecycle::Applied&)>;

/// Makes failures of an object that has failed for 30 s permanent, so that its status reports them (decision
/// ctl-Q47). Conflicts never are, and of the waits only those that should have passed.
void reportPersistent(const Environment& environment, const k8s::ObjectKey& key,
                      std::span<lifecycle::Ending> failures);

/// Applies the children of `object` and carries out the outcome. If the API server refuses a write of the
/// outcome, the status reports it. The result takes the facts in `lookedUp`, which `finish` may add to. The
/// arguments must outlive the task.
runtime::Task<ReconcileResult> applyAndFinish(Environment& environment, const json::Value& object,
                                              const render::Children& children, Observed& observed,
                                              const Finish& finish, Writer writer,
                                              render::FactKeys& lookedUp);

}  // namespace dynamo::controller
