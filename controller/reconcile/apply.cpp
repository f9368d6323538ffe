// Decisions child-Q1, child-Q4, child-Q6, child-Q12, ctl-Q45, ctl-Q66, ctl-Q67, life-Q50.
#include "controller/reconcile/apply.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "common/json/parse.h"
#include "common/lifecycle/object.h"
#include "common/observability/log.h"
#include "common/render/write_plan.h"
#include "common/runtime/exception_type.h"
#include "common/runtime/task_group.h"
#include "controller/reconcile/child_requests.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/owner.h"
#include "controller/reconcile/removal.h"
#include "controller/reconcile/takeover.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"apply"};

using json::Document;
using json::Value;
using kube::ApiError;
using lifecycle::Conflict;
using lifecycle::Done;
using lifecycle::Ending;
using lifecycle::LookAgain;
using lifecycle::Permanent;
using render::WriteAction;
using runtime::Task;

class Run {
 public:
  Run(Environment& environment, const Value& owner, Observed& observed, const std::string& writer)
      : environment_(environment), owner_(owner), observed_(observed), writer_(writer) {}

  /// An exception is the failure of this child and of no other.
  Task<void> apply(const render::Child& child) {
    std::string unexpected;
    try {
      Ending ended = co_await write(child);
      if (!isDone(ended)) failures_.emplace_back(child.key, std::move(ended));
    } catch (const std::exception&) {
      unexpected = runtime::currentExceptionType();
    }
    if (!unexpected.empty())
      failures_.emplace_back(child.key,
                             Permanent{fmt::format("{}: unexpected {}", k8s::toText(child.key), unexpected)});
  }

  /// Ends a stage. Returns false if no other one may follow. An owner that was read before a stage may have
  /// been deleted since.
  bool endStage() {
    ownerRead_.reset();
    return !result_.ownerGone;
  }

  bool hasFailed() const { return !failures_.empty(); }

  AppliedChildren result() {
    const auto byKey = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(failures_.begin(), failures_.end(), byKey);
    std::stable_sort(notices_.begin(), notices_.end(), byKey);
    for (auto& [key, failure] : failures_) result_.failures.push_back(std::move(failure));
    for (auto& [key, notice] : notices_) result_.notices.push_back(std::move(notice));
    return std::move(result_);
  }

 private:
  /// A child while it is written.
  struct Attempt {
    const render::Child& child;
    const WatchedKind& kind;
    render::WriteMemory memory;
    bool conflicted = false;  ///< its creation found an object of that name
  };

  Task<Ending> write(const render::Child& child) {
    const WatchedKind* kind = findWatchedKind(child.key);
    if (kind == nullptr) co_return Permanent{fmt::format("{}: unknown kind", k8s::toText(child.key))};
    if (observed_.find(child.key) == nullptr) {
      if (std::optional<kube::Cached> cached = environment_.cache.find(child.key))
        observed_.put(std::move(*cached));
    }
    if (result_.ownerGone) co_return Done{};
    Attempt attempt{child, *kind, memoryOf(child, *kind)};
    for (;;) {
      Document arena;
      const kube::Cached* live = observed_.find(child.key);
      attempt.memory.beingWritten = environment_.cache.isBeingWritten(child.key) ||
                                    (live == nullptr && environment_.cache.contains(child.key));
      const render::WritePlan plan = planOf(child, live, attempt.memory, arena);
      std::optional<Ending> ended = co_await carryOut(attempt, plan, live);
      if (ended) co_return std::move(*ended);
    }
  }

  /// Carries out the plan; nullopt: something was learnt, so a new plan is needed.
  Task<std::optional<Ending>> carryOut(Attempt& attempt, const render::WritePlan& plan,
                                       const kube::Cached* live) {
    const render::Child& child = attempt.child;
    const WatchedKind& kind = attempt.kind;
    switch (plan.action) {
      case WriteAction::Read: {
        attempt.memory.read = true;
        Ending ended = co_await read(kind, child.key);
        // Of a contested field, only who changes it would have been read.
        co_return plan.drift ? std::nullopt : unlessDone(std::move(ended));
      }
      case WriteAction::ReadOwner:
        if (!ownerRead_) ownerRead_ = co_await readOwner(environment_, owner_);
        if (!isDone(ownerRead_->ending)) co_return ownerRead_->ending;
        result_.ownerGone = result_.ownerGone || !ownerRead_->present;
        if (result_.ownerGone) co_return Done{};
        attempt.memory.ownerRead = true;
        co_return std::nullopt;
      case WriteAction::TakeOver:
        attempt.memory.takenOver = true;
        co_return unlessDone(co_await takeOverLive(kind, child.key, *plan.object));
      case WriteAction::Leave:
        left(child, plan, attempt.memory);
        co_return Done{};
      case WriteAction::Wait:
        co_return LookAgain{plan.reason};
      case WriteAction::Conflict:
        co_return Conflict{plan.reason};
      case WriteAction::Refuse:
        if (plan.passing) co_return LookAgain{plan.reason, true};
        co_return Permanent{plan.reason};
      case WriteAction::Create:
        co_return co_await create(kind, child.key, *plan.object);
      case WriteAction::Replace:
        attempt.memory.read = true;
        co_return unlessDone(co_await remove(kind, child.key, *live));
      case WriteAction::Apply:
        break;
    }
    co_return co_await apply(attempt, plan, live);
  }

  Task<std::optional<Ending>> apply(Attempt& attempt, const render::WritePlan& plan,
                                    const kube::Cached* live) {
    const k8s::ObjectKey& key = attempt.child.key;
    if (plan.drift) kLog.debug("child differs", {{"object", k8s::toText(key)}, {"path", plan.drift->path}});
    const bool creates = live == nullptr;
    const kube::Cache::Writing writing{environment_.cache, key};
    auto answer = co_await applyChild(environment_.client, attempt.kind.resource, key, *plan.object,
                                      plan.force, creates ? nullptr : &live->object);
    if (auto* error = std::get_if<ApiError>(&answer)) {
      const bool exists = error->reason == kube::Reason::Conflict || error->reason == kube::Reason::Invalid;
      if (!creates || attempt.conflicted || !exists) co_return failureOf(key, *error);
      // Somebody has created an object of that name.
      attempt.conflicted = attempt.memory.read = true;
      if (Ending ended = co_await read(attempt.kind, key); !isDone(ended)) co_return std::move(ended);
      if (observed_.find(key) == nullptr) co_return failureOf(key, *error);
      co_return std::nullopt;
    }
    if (plan.notice) notices_.emplace_back(key, *plan.notice);
    applied(attempt.kind, key, plan, std::move(std::get<Document>(answer)));
    co_return Done{};
  }

  static std::optional<Ending> unlessDone(Ending ended) {
    return isDone(ended) ? std::nullopt : std::optional{std::move(ended)};
  }

  render::WriteMemory memoryOf(const render::Child& child, const WatchedKind& kind) const {
    render::WriteMemory memory;
    memory.applied = environment_.applied.find(child.key);
    const auto settled = environment_.settled.find(child.key);
    if (settled != environment_.settled.end()) memory.settled = settled->second;
    memory.contests = &environment_.contests;
    memory.watched = kind.complete();
    return memory;
  }

  static render::WritePlan planOf(const render::Child& child, const kube::Cached* live,
                                  const render::WriteMemory& memory, Document& arena) {
    const auto now = render::Clock::now();
    if (live == nullptr) return render::planWrite(child, nullptr, memory, now, arena.GetAllocator());
    Document owned;
    const bool known = !live->ownedFields.empty() && !json::parse(live->ownedFields, owned);
    const render::LiveChild seen{live->object, kFieldManager, known ? &owned : nullptr, live->replicasOwner};
    return render::planWrite(child, &seen, memory, now, arena.GetAllocator());
  }

  void left(const render::Child& child, const render::WritePlan& plan, const render::WriteMemory& memory) {
    if (plan.notice && !environment_.told.contains(toldKey(owner_, *plan.notice)))
      notices_.emplace_back(child.key, *plan.notice);
    if (plan.again) {
      const auto time = std::chrono::ceil<std::chrono::milliseconds>(*plan.again);
      lifecycle::requeueWithin(result_.again, time);
    }
    if (plan.object != nullptr && !memory.applied)
      environment_.applied.remember(child.key, render::appliedDigest(*plan.object));
  }

  /// Adds the live object to `observed_` if it exists.
  Task<Ending> read(const WatchedKind& kind, const k8s::ObjectKey& key) {
    auto got = co_await readLive(environment_.client, kind, key);
    if (auto* error = std::get_if<ApiError>(&got)) co_return failureOf(key, *error);
    if (auto& found = std::get<std::optional<Document>>(got)) {
      observed_.put(withOwnership(std::move(*found)));
    } else {
      observed_.remove(key);
    }
    co_return Done{};
  }

  Task<Ending> takeOverLive(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& wanted) {
    const kube::Cache::Writing writing{environment_.cache, key};
    auto taken = co_await takeOver(environment_.client, kind.resource, key, wanted);
    if (auto* error = std::get_if<ApiError>(&taken)) co_return failureOf(key, *error);
    auto& stored = std::get<std::optional<Document>>(taken);
    if (!stored) {
      observed_.remove(key);
      co_return Done{};
    }
    if (isWatched(kind, *stored)) environment_.cache.wrote(*stored, writer_);
    observed_.put(withOwnership(std::move(*stored)));
    co_return Done{};
  }

  Task<Ending> create(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& object) {
    const kube::Cache::Writing writing{environment_.cache, key};
    std::string body = json::dump(object);
    auto answer = co_await environment_.client.create(kind.resource, key.namespaceName, std::move(body));
    if (auto* error = std::get_if<ApiError>(&answer)) {
      if (error->reason == kube::Reason::AlreadyExists) co_return Done{};
      co_return failureOf(key, *error);
    }
    Document& stored = std::get<Document>(answer);
    if (isWatched(kind, stored)) environment_.cache.wrote(stored, writer_);
    observed_.put(withOwnership(std::move(stored)));
    co_return Done{};
  }

  /// Deletes an object that is going to be replaced.
  Task<Ending> remove(const WatchedKind& kind, const k8s::ObjectKey& key, const kube::Cached& live) {
    const kube::Preconditions same{std::string{lifecycle::uidOf(live.object)}};
    Ending ended = co_await removeObject(environment_, kind.resource, key, same, writer_);
    if (isDone(ended)) observed_.remove(key);
    co_return ended;
  }

  void applied(const WatchedKind& kind, const k8s::ObjectKey& key, const render::WritePlan& plan,
               Document answer) {
    if (isWatched(kind, answer)) environment_.cache.wrote(answer, writer_);
    environment_.applied.remember(key, render::appliedDigest(*plan.object));
    environment_.contests.remember(key, plan, render::Clock::now());
    rememberSettled(key, *plan.object, answer);
    observed_.put(withOwnership(std::move(answer)));
  }

  void rememberSettled(const k8s::ObjectKey& key, const Value& wanted, const Value& answer) {
    const auto drift = k8s::findDrift(wanted, answer, k8s::ownedFields(answer, kFieldManager));
    if (!drift) {
      environment_.settled.erase(key);
      return;
    }
    // The next reconcile compares the child with the cached object, which has fewer fields.
    const std::optional<kube::Cached> cached = environment_.cache.find(key);
    environment_.settled.insert_or_assign(
        key, render::Settled{render::contentDigest(wanted),
                             render::contentDigest(cached ? cached->object : answer)});
    kLog.warn("the API server changed an applied value",
              {{"object", k8s::toText(key)}, {"path", drift->path}});
  }

  static kube::Cached withOwnership(Document object) {
    kube::Cached read;
    if (const Value* owned = k8s::ownedFields(object, kFieldManager)) read.ownedFields = json::dump(*owned);
    read.replicasOwner = k8s::replicasOwner(object, kFieldManager);
    read.object = std::move(object);
    return read;
  }

  Environment& environment_;
  const Value& owner_;
  Observed& observed_;
  const std::string& writer_;  ///< Change::writer
  std::optional<OwnerRead> ownerRead_;
  std::vector<std::pair<k8s::ObjectKey, Ending>> failures_;
  std::vector<std::pair<k8s::ObjectKey, render::WriteNotice>> notices_;
  AppliedChildren result_;
};

}  // namespace

std::string toldKey(const Value& owner, const render::WriteNotice& notice) {
  return fmt::format("{}\n{}", lifecycle::uidOf(owner), notice.message());
}

void forgetTold(std::set<std::string>& told, const Value& owner) {
  const std::string begin = fmt::format("{}\n", lifecycle::uidOf(owner));
  const auto first = told.lower_bound(begin);
  told.erase(first, std::find_if_not(first, told.end(),
                                     [&](const std::string& key) { return key.starts_with(begin); }));
}

Task<AppliedChildren> applyChildren(Environment& environment, const Value& owner,
                                    const render::Children& children, Observed& observed,
                                    std::string writer) {
  Run run{environment, owner, observed, writer};
  const std::vector<std::size_t> order = render::creationOrder(children);
  for (std::size_t i = 0; i < order.size();) {
    const render::Stage stage = children.items[order[i]].stage;
    if (stage == render::Stage::Jobs && run.hasFailed()) break;
    runtime::TaskGroup group{environment.loop};
    for (; i < order.size() && children.items[order[i]].stage == stage; ++i)
      group.spawn(run.apply(children.items[order[i]]));
    co_await group.join();
    if (!run.endStage()) break;
  }
  co_return run.result();
}

}  // namespace dynamo::controller
