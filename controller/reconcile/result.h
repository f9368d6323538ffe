#pragma once
// Converts the outcome of a reconcile to a ReconcileResult.

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

/// Returns the failure to report. A conflict is no error, so another failure is preferred.
inline const lifecycle::Failure* reportedFailure(const std::vector<lifecycle::Failure>& failures) {
  const auto found = std::find_if(failures.begin(), failures.end(),
                                  [](const auto& each) { return each.type != kConflictError; });
  if (found != failures.end()) return &*found;
  return failures.empty() ? nullptr : &failures.front();
}

/// Returns the result of a reconcile. `failure` is the failed write of the outcome, if any. A failed child is
/// an error of the reconcile even if a condition reports it and it is not retried.
inline ReconcileResult resultOf(const lifecycle::Outcome& outcome,
                                const std::optional<lifecycle::Failure>& failure, render::FactKeys lookedUp) {
  ReconcileResult result;
  result.requeueAfter = outcome.requeueAfter;
  result.retry = outcome.retry || failure.has_value();
  result.lookedUp = std::move(lookedUp);
  result.waits = !failure && !outcome.failures.empty() &&
                 std::all_of(outcome.failures.begin(), outcome.failures.end(),
                             [](const auto& each) { return each.waits && !each.passing; });
  const lifecycle::Failure* reported = failure ? &*failure : reportedFailure(outcome.failures);
  if (reported == nullptr) return result;
  result.error = reported->message;
  result.errorType = reported->type;
  result.retryAfter = reported->retryAfter;
  return result;
}

}  // namespace dynamo::controller
