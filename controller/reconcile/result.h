#pragma once
// Converts the outcome of a reconcile to a ReconcileResult.

#include <utility>

#include "common/lifecycle/outcome.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Returns the result of a reconcile. `ended` is how the writes of the outcome ended. A failed child is an
/// error of the reconcile even if a condition reports it.
inline ReconcileResult resultOf(const lifecycle::Outcome& outcome, lifecycle::Ending ended,
                                render::FactKeys lookedUp) {
  if (isDone(ended)) ended = lifecycle::gravestOf(outcome.failures);
  return {std::move(ended), outcome.requeueAfter, outcome.prevented, std::move(lookedUp)};
}

}  // namespace dynamo::controller
