// Decision ctl-Q47.
#include "controller/reconcile/finish.h"

#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "common/k8s/object_key.h"
#include "controller/reconcile/apply.h"
#include "controller/reconcile/result.h"
#include "controller/reconcile/ssh_key.h"

namespace dynamo::controller {
namespace {

using lifecycle::Ending;
using runtime::Task;

/// A failure that may be transient is reported by the status after this time, for example a webhook of a
/// child's kind that does not answer.
constexpr std::chrono::seconds kTransientTime{30};

}  // namespace

void reportPersistent(const Environment& environment, const k8s::ObjectKey& key, std::span<Ending> failures) {
  const auto since = environment.failingSince.find(key);
  if (since == environment.failingSince.end() ||
      std::chrono::steady_clock::now() < since->second + kTransientTime)
    return;
  for (Ending& failure : failures) failure = lasting(std::move(failure));
}

Task<ReconcileResult> applyAndFinish(Environment& environment, const json::Value& object,
                                     const render::Children& children, Observed& observed,
                                     const Finish& finish, Writer writer, render::FactKeys& lookedUp) {
  const k8s::ObjectKey key = k8s::keyOf(object);
  AppliedChildren written = co_await applyChildren(environment, object, children, observed, writer.name);
  if (written.ownerGone) co_return ReconcileResult{};
  std::vector<Ending> failures = std::move(written.failures);
  if (needsSecret(children, environment.sshKeys.name())) {
    Ending missing = co_await environment.sshKeys.ensure(key.namespaceName);
    if (!isDone(missing)) failures.push_back(std::move(missing));
  }
  reportPersistent(environment, key, failures);
  lifecycle::Applied applied{observed.values(), std::move(failures), std::move(written.notices),
                             &environment.contests, render::Clock::now()};
  lifecycle::Outcome outcome = finish(applied);
  lifecycle::requeueWithin(outcome.requeueAfter, written.again);
  Ending ended = co_await carryOut(environment, object, outcome, writer);
  reportPersistent(environment, key, {&ended, 1});
  // A write that is repeated leaves out the Events.
  for (const render::WriteNotice& notice : applied.notices) {
    if ((isDone(ended) || isPermanent(ended)) && notice.kind == render::WriteNotice::Kind::Foreign)
      environment.told.insert(toldKey(object, notice));
  }
  if (isPermanent(ended)) {
    applied.failures.push_back(ended);
    lifecycle::Outcome report = finish(applied);
    report.writes.clear();
    co_await carryOut(environment, object, report, writer);
  }
  co_return resultOf(outcome, std::move(ended), std::move(lookedUp));
}

}  // namespace dynamo::controller
