#pragma once
// Converts the outcome of a reconcile to a ReconcileResult.

#include <optional>
#include <utility>

#include "common/lifecycle/outcome.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Returns the result of a reconcile. `failure` is the failed write of the outcome, if any.
inline ReconcileResult resultOf(const lifecycle::Outcome& outcome,
                                const std::optional<lifecycle::Failure>& failure, render::FactKeys lookedUp) {
  ReconcileResult result;
  result.requeueAfter = outcome.requeueAfter;
  result.retry = outcome.retry || failure.has_value();
  if (failure) result.error = failure->message;
  result.lookedUp = std::move(lookedUp);
  return result;
}

/// Adds the failures of children to the result. A failed child is an error of the reconcile even if a
/// condition reports it and it is not retried.
inline void addFailures(const std::vector<lifecycle::Failure>& failures, ReconcileResult& result) {
  for (const lifecycle::Failure& failure : failures) {
    if (!result.error.empty()) return;
    result.error = failure.message;
  }
}

}  // namespace dynamo::controller
