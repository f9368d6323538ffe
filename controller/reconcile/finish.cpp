// Decision ctl-Q47.
#include "controller/reconcile/finish.h"

#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/k8s/object_key.h"
#include "controller/reconcile/apply.h"
#include "controller/reconcile/result.h"
#include "controller/reconcile/ssh_key.h"

namespace dynamo::controller {
namespace {

using lifecycle::Failure;
using runtime::Task;

/// A failure that may be transient is reported by the status after this time, for example a webhook of a
/// child's kind that does not answer.
constexpr std::chrono::seconds kTransientTime{30};

}  // namespace

void reportPersistent(const Environment& environment, const k8s::ObjectKey& key,
                      std::span<Failure> failures) {
  const auto since = environment.failingSince.find(key);
  if (since == environment.failingSince.end() ||
      std::chrono::steady_clock::now() < since->second + kTransientTime)
    return;
  for (Failure& failure : failures) {
    if ((failure.waits && !failure.passing) || failure.type == kConflictError) continue;
    failure.transient = false;
    failure.waits = false;
  }
}

Task<ReconcileResult> applyAndFinish(Environment& environment, const json::Value& object,
                                     const render::Children& children, Observed& observed,
                                     const Finish& finish, Writer writer, render::FactKeys& lookedUp) {
  const k8s::ObjectKey key = k8s::keyOf(object);
  AppliedChildren written = co_await applyChildren(environment, object, children, observed, writer.name);
  if (written.ownerGone) co_return ReconcileResult{};
  std::vector<Failure> failures = std::move(written.failures);
  if (needsSecret(children, environment.sshKeys.name())) {
    std::optional<Failure> missing = co_await environment.sshKeys.ensure(key.namespaceName);
    if (missing) failures.push_back(std::move(*missing));
  }
  reportPersistent(environment, key, failures);
  lifecycle::Applied applied{observed.values(), std::move(failures), std::move(written.notices)};
  lifecycle::Outcome outcome = finish(applied);
  lifecycle::requeueWithin(outcome.requeueAfter, written.again);
  std::optional<Failure> failure = co_await carryOut(environment, object, outcome, writer);
  if (failure) reportPersistent(environment, key, {&*failure, 1});
  // A transient failure leaves out the Events.
  for (const render::WriteNotice& notice : applied.notices) {
    if ((!failure || !failure->transient) && notice.kind == render::WriteNotice::Kind::Foreign)
      environment.told.insert(toldKey(object, notice));
  }
  if (failure && !failure->transient) {
    applied.failures.push_back(*failure);
    lifecycle::Outcome report = finish(applied);
    report.writes.clear();
    co_await carryOut(environment, object, report, writer);
  }
  co_return resultOf(outcome, failure, std::move(lookedUp));
}

}  // namespace dynamo::controller
