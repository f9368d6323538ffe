#include "common/render/write_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/k8s/field_owner.h"
#include "common/k8s/object.h"
#include "common/render/adopt.h"
#include "common/render/object.h"
#include "common/render/takeover.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;
using k8s::ownersOf;

bool isAdapter(const Child& child) {
  return child.key.kind == api::kDynamoGraphDeploymentScalingAdapter;
}

bool isDeployment(const Child& child) {
  return child.key.kind == "Deployment" && child.key.group == "apps";
}

/// Whether an owner reference of the child is missing in the live object, or is no controller there.
bool addsOwner(const Value& wanted, const Value& live, bool shared) {
  const auto owners = ownersOf(live);
  return std::any_of(ownersOf(wanted).begin(), ownersOf(wanted).end(), [&](const Value& owner) {
    return std::none_of(owners.begin(), owners.end(), [&](const Value& other) {
      const bool controls = json::findBool(&other, "controller").value_or(false);
      return json::findText(&other, "uid") == json::findText(&owner, "uid") && (shared || controls);
    });
  });
}

Value withoutReplicas(const Value& child, Allocator& allocator) {
  Value object = json::copy(child, allocator);
  if (Value* spec = json::find(object, "spec")) json::remove(*spec, "replicas");
  return object;
}

class Plan {
 public:
  Plan(const Child& child, const LiveChild* live, const WriteMemory& memory, Clock::time_point now,
       Allocator& allocator)
      : child_(child), live_(live), memory_(memory), now_(now), allocator_(allocator) {}

  WritePlan make() {
    if (live_ == nullptr) {
      create();
    } else {
      change(live_->object);
    }
    return std::move(plan_);
  }

 private:
  bool shared() const { return child_.policy == Policy::Shared; }

  void act(WriteAction action, const Value* object = nullptr) {
    plan_.action = action;
    plan_.object = object;
  }
  void stop(WriteAction action, std::string reason) {
    plan_.action = action;
    plan_.reason = std::move(reason);
  }

  /// An object that does not exist has no version to require, so only one reconcile creates a shared one.
  bool conflicts() {
    if (!shared() || !memory_.beingWritten) return false;
    stop(WriteAction::Conflict, fmt::format("{} is being written", k8s::toText(child_.key)));
    return true;
  }

  void create() {
    if (!memory_.watched && !memory_.read) return act(WriteAction::Read);
    if (conflicts()) return;
    if (child_.policy == Policy::CreatedOnce || isAdapter(child_))
      return act(WriteAction::Create, &child_.object);
    // Without force, the values of an object that was created meanwhile are not overwritten.
    plan_.force = false;
    act(WriteAction::Apply, keep(wanted(nullptr), allocator_));
  }

  void change(const Value& live) {
    // A claim that is being deleted stays as long as pods use it.
    if (child_.policy == Policy::CreatedOnce) return;
    const bool applied = live_->ownedFields != nullptr;
    const Claim claim = claimOf(child_, live, applied);
    // The cache does not have the managedFields that show the reference operator.
    if (claim.claimant == Claimant::Other && shared() && !ownersOf(live).empty() && !applied && !memory_.read)
      return act(WriteAction::Read);
    if (claim.claimant == Claimant::Gone) return stop(WriteAction::Wait, claim.reason);
    if (claim.claimant == Claimant::Other) {
      plan_.passing = claim.passing;
      return stop(WriteAction::Refuse, claim.reason);
    }
    if (isReserved(child_) && !applied) {
      // Labels and annotations can be copied, field managers cannot, and the cache does not have them.
      if (!memory_.read) return act(WriteAction::Read);
      if (!isReferenceObject(live)) {
        plan_.notice = {
            WriteNotice::Kind::Foreign,
            fmt::format("{} was not made by this operator and is used as it is", k8s::toText(child_.key)),
            ""};
        return;
      }
    }
    if (addsOwner(child_.object, live, shared()) && !memory_.ownerRead) return act(WriteAction::ReadOwner);
    if (!json::equal(json::find(child_.object, "roleRef"), json::find(live, "roleRef")))
      return act(WriteAction::Replace, &child_.object);
    const Value* object = keep(wanted(live_), allocator_);
    if (needsTakeover(live, applied) && !memory_.takenOver) return act(WriteAction::TakeOver, object);
    apply(live, *object);
  }

  void apply(const Value& live, const Value& object) {
    plan_.drift = k8s::findDrift(object, live, live_->ownedFields);
    const bool settled =
        memory_.settled && *memory_.settled == Settled{contentDigest(object), contentDigest(live)};
    if (plan_.drift && !settled) {
      if (waits(live, object)) return;
    } else if (!memory_.takenOver &&
               (shared() || !memory_.applied || *memory_.applied == appliedDigest(object))) {
      // The owners of shared objects change without this reconcile.
      plan_.drift.reset();
      plan_.object = &object;
      tellContests(object);
      return;
    }
    // The live object may have lost its owner since the cache was filled.
    if (!ownersOf(object).empty() && !memory_.ownerRead) return act(WriteAction::ReadOwner);
    if (!conflicts()) act(WriteAction::Apply, &object);
  }

  /// Whether all differences are of fields that are applied later. The drift is then one of them, else
  /// another difference.
  bool waits(const Value& live, const Value& object) {
    Value rest;  // without the fields that are applied later
    while (waitsForContest(live, object)) {
      if (plan_.action != WriteAction::Leave) return true;
      if (rest.IsNull()) rest = json::copy(object, allocator_);
      if (!k8s::removeField(rest, plan_.drift->path)) return true;
      std::optional<k8s::Drift> other = k8s::findDrift(rest, live, live_->ownedFields);
      // A field that is left out seems to be owned without being applied.
      if (!other || other->kind != k8s::DriftKind::Changed || other->path == plan_.drift->path) return true;
      plan_.drift = std::move(other);
    }
    return false;
  }

  /// Nothing differs now, but somebody who keeps changing a field may do so again.
  void tellContests(const Value& object) {
    if (plan_.notice || memory_.contests == nullptr) return;
    for (const auto& [path, contest] : memory_.contests->named(child_.key)) {
      if (hasEnded(contest, now_) || contest.applied != contentDigest(object)) continue;
      plan_.notice = contestNotice(child_.key, path, contest.manager);
      plan_.again = endOf(contest) - now_;
      return;
    }
  }

  /// Whether the field is applied later, because somebody changes it back again and again.
  bool waitsForContest(const Value& live, const Value& object) {
    plan_.contestant.clear();
    const Contest* found =
        memory_.contests == nullptr ? nullptr : memory_.contests->find(child_.key, plan_.drift->path);
    if (found == nullptr) return false;
    const Contest& contest = *found;
    const Clock::duration wait = waitAfter(contest.undone);
    if (contest.applied != contentDigest(object) || hasEnded(contest, now_)) return false;
    plan_.contestant = contest.manager;
    if (contest.undone >= kNamedFrom) {
      if (plan_.contestant.empty()) {
        if (!memory_.read) {
          act(WriteAction::Read);
          return true;
        }
        plan_.contestant = k8s::fieldOwner(live, plan_.drift->path, live_->manager);
        if (plan_.contestant.empty()) plan_.contestant = k8s::kUnknownManager;
      }
      plan_.notice = contestNotice(child_.key, plan_.drift->path, plan_.contestant);
    }
    if (now_ >= contest.since + wait) return false;
    const Clock::duration rest = contest.since + wait - now_;
    plan_.again = plan_.again ? std::min(*plan_.again, rest) : rest;
    return true;
  }

  /// The object to apply to `live` (nullptr: there is none).
  Value wanted(const LiveChild* live) {
    if (live != nullptr && shared()) return withOwnersOf(child_.object, live->object, allocator_);
    if (live != nullptr && isAdapter(child_)) return withoutReplicas(child_.object, allocator_);
    const std::optional<std::int64_t> replicas = k8s::replicasOf(child_.object);
    if (!replicas || isAdapter(child_)) return json::copy(child_.object, allocator_);
    const std::string number = std::to_string(*replicas);
    Value object = leavesReplicas(live, number) ? withoutReplicas(child_.object, allocator_)
                                                : json::copy(child_.object, allocator_);
    if (isDeployment(child_)) {
      const json::Maker make{allocator_};
      Value& metadata = json::ensureObject(object, "metadata", allocator_);
      make.set(json::ensureObject(metadata, "annotations", allocator_), kRenderedReplicas, number);
    }
    return object;
  }

  /// Whether somebody has set the number after `rendered` was applied.
  bool leavesReplicas(const LiveChild* live, std::string_view rendered) {
    if (live == nullptr || live->replicasOwner.empty()) return false;
    const std::string_view last = json::findText(k8s::annotationsOf(live->object), kRenderedReplicas);
    // Without a record, a 0 is taken for a new one: it ends an earlier generation of workers.
    if (last.empty() ? rendered == "0" : last != rendered) return false;
    const std::string number = std::to_string(k8s::replicasOf(live->object).value_or(1));
    if (number != rendered) plan_.notice = replicasNotice(child_.key, live->replicasOwner, number, rendered);
    return true;
  }

  const Child& child_;
  const LiveChild* live_;
  const WriteMemory& memory_;
  Clock::time_point now_;
  Allocator& allocator_;
  WritePlan plan_;
};

}  // namespace

WritePlan planWrite(const Child& child, const LiveChild* live, const WriteMemory& memory,
                    Clock::time_point now, Allocator& allocator) {
  return Plan{child, live, memory, now, allocator}.make();
}

WriteNotice replicasNotice(const k8s::ObjectKey& key, std::string_view owner, std::string_view number,
                           std::string_view rendered) {
  return {WriteNotice::Kind::Replicas, fmt::format("{} scales {}: ", owner, k8s::toText(key)),
          fmt::format("{} replicas instead of {}", number, rendered)};
}

std::size_t appliedDigest(const Value& object) {
  json::Document memory;
  return std::hash<std::string>{}(json::dump(withoutReplicas(object, memory.GetAllocator())));
}

std::size_t contentDigest(const Value& object) {
  json::Document memory;
  Value content = json::copy(object, memory.GetAllocator());
  json::remove(content, "status");
  if (Value* metadata = json::find(content, "metadata")) {
    for (const std::string_view name :
         {"resourceVersion", "generation", "managedFields", "creationTimestamp"})
      json::remove(*metadata, name);
  }
  return std::hash<std::string>{}(json::dump(content));
}

}  // namespace dynamo::render
