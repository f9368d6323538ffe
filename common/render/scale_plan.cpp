#include "common/render/scale_plan.h"

#include <algorithm>

#include "common/json/build.h"
#include "common/k8s/drift.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPath = "spec.replicas";
/// The watch event of a write comes within this time.
constexpr Clock::duration kEventComes = 5s;

/// Whether the number is written later, because somebody changes it back. Names who does it.
bool waits(const Contest& contest, const ScaledObject& live, Clock::time_point now, WritePlan& plan) {
  if (contest.undone >= kNamedFrom) {
    plan.contestant = contest.manager.empty() ? live.writer : contest.manager;
    if (plan.contestant.empty()) plan.contestant = k8s::kUnknownManager;
    plan.notice = contestNotice(live.key, kPath, plan.contestant);
  }
  Clock::time_point next = contest.since + waitAfter(contest.undone);
  if (!contest.version.empty() && contest.version == live.version)
    next = std::max(next, contest.since + kEventComes);
  if (now >= next) return false;
  plan.again = next - now;
  return true;
}

}  // namespace

bool isScaledByOthers(const ScaledObject& live) {
  return !live.scaledBy.empty() && live.last.value_or(live.rendered) == live.rendered;
}

WritePlan planScale(const ScaledObject& live, const Contests* contests, Clock::time_point now,
                    json::Allocator& allocator) {
  WritePlan plan;
  const bool equal = live.replicas == live.rendered;
  if (isScaledByOthers(live)) {
    if (!equal)
      plan.notice = replicasNotice(live.key, live.scaledBy, std::to_string(live.replicas),
                                   std::to_string(live.rendered));
    return plan;
  }
  const json::Maker make{allocator};
  plan.object = keep(make.object("spec", make.object("replicas", live.rendered)), allocator);
  const Contest* contest = contests == nullptr ? nullptr : contests->find(live.key, kPath);
  if (contest != nullptr && (contest->applied != contentDigest(*plan.object) || hasEnded(*contest, now)))
    contest = nullptr;
  if (equal) {
    // Somebody who keeps changing the number may do so again.
    if (contest == nullptr || contest->manager.empty()) return plan;
    plan.notice = contestNotice(live.key, kPath, contest->manager);
    plan.again = endOf(*contest) - now;
    return plan;
  }
  if (contest != nullptr && waits(*contest, live, now, plan)) return plan;
  plan.action = WriteAction::Apply;
  plan.drift = {k8s::DriftKind::Changed, std::string{kPath}};
  plan.version = live.version;
  return plan;
}

}  // namespace dynamo::render
