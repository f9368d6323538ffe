#pragma once
// Converts the outcome of a reconcile to a ReconcileResult.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {

/// A failure that may be transient is reported by the status after this time, for example a webhook of a
/// child's kind that does not answer.
inline constexpr std::chrono::seconds kTransientTime{30};

/// Makes failures of an object that has failed for kTransientTime permanent, so that its status reports them.
/// Conflicts and waits never are.
inline void reportPersistent(const Environment& environment, const k8s::ObjectKey& key,
                             std::vector<lifecycle::Failure>& failures) {
  const auto since = environment.failingSince.find(key);
  if (since == environment.failingSince.end() ||
      std::chrono::steady_clock::now() < since->second + kTransientTime)
    return;
  for (lifecycle::Failure& failure : failures) {
    if (!failure.waits && failure.type != kConflictError) failure.transient = false;
  }
}

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
  const lifecycle::Failure* reported = failure ? &*failure : reportedFailure(outcome.failures);
  if (reported == nullptr) return result;
  result.error = reported->message;
  result.errorType = reported->type;
  result.retryAfter = reported->retryAfter;
  return result;
}

}  // namespace dynamo::controller
