// Decisions child-Q1, child-Q4, child-Q6, child-Q12, ctl-Q45.
#include "controller/reconcile/apply.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/drift.h"
#include "common/lifecycle/object.h"
#include "common/observability/log.h"
#include "common/render/adopt.h"
#include "common/render/takeover.h"
#include "common/runtime/task_group.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/removal.h"
#include "controller/reconcile/takeover.h"

namespace dynamo::controller {
namespace {

constexpr log::Logger kLog{"apply"};

using json::Document;
using json::Value;
using kube::ApiError;
using runtime::Task;

/// Returns a digest of the parts of an object that users and other controllers may change.
std::size_t contentDigest(const Value& object) {
  Document copy;
  Value content = json::copy(object, copy.GetAllocator());
  json::remove(content, "status");
  if (Value* metadata = json::find(content, "metadata")) {
    for (const std::string_view name :
         {"resourceVersion", "generation", "managedFields", "creationTimestamp"})
      json::remove(*metadata, name);
  }
  return std::hash<std::string>{}(json::dump(content));
}

kube::Cached withOwnership(Document object) {
  kube::Cached read;
  if (const Value* owned = k8s::ownedFields(object, kFieldManager)) read.ownedFields = json::dump(*owned);
  read.replicasOwnedByOther = k8s::replicasOwnedByOther(object, kFieldManager);
  read.object = std::move(object);
  return read;
}

/// `wanted` as a merge patch that removes what an apply request cannot: null for objects that are empty.
Value replacementOf(const Value& wanted, json::Allocator& allocator) {
  if (!wanted.IsObject()) return json::copy(wanted, allocator);
  Value patch{rapidjson::kObjectType};
  for (const auto& member : wanted.GetObject()) {
    const bool empty = member.value.IsObject() && member.value.ObjectEmpty();
    patch.AddMember(json::copy(member.name, allocator),
                    empty ? Value{} : replacementOf(member.value, allocator), allocator);
  }
  return patch;
}

/// Whether the API server refused the result of an apply request that is valid itself. The request adds its
/// list items to edited ones: a port whose number was edited then exists twice with one name. And if it
/// empties an object whose members it applied before, the object becomes null, which custom resources forbid.
bool isMergeError(const ApiError& refused) {
  return refused.cause("FieldValueDuplicate") != nullptr || refused.cause("FieldValueTypeInvalid") != nullptr;
}

/// Returns the failure for an object that is being deleted. The watch event at the end of the deletion
/// triggers the next attempt.
lifecycle::Failure beingDeleted(const k8s::ObjectKey& key) {
  return {.message = fmt::format("{} is being deleted", k8s::toText(key)), .transient = true, .waits = true};
}

class Run {
 public:
  Run(Environment& environment, Observed& observed, std::string writer)
      : environment_(environment), observed_(observed), writer_(std::move(writer)) {}

  Task<void> apply(const render::Child& child) {
    const WatchedKind* kind = findWatchedKind(child.key);
    if (kind == nullptr) {
      failures.push_back({fmt::format("{}: unknown kind", k8s::toText(child.key)), false});
      co_return;
    }
    readCached(child.key);
    if (observed_.find(child.key) == nullptr && !kind->complete()) {
      // An object of that name without the labels of the watches may exist. A child that itself lacks them is
      // never in the cache, so it is always read: an apply request would be a write in each reconcile. So is
      // a ConfigMap or a ServiceAccount: an apply request would not conflict with other keys, or with
      // nothing.
      const bool conflicts = child.key.kind != "ConfigMap" && child.key.kind != "ServiceAccount";
      const bool watched = isWatched(*kind, child.object) && conflicts;
      if (watched && child.policy != render::Policy::CreatedOnce && co_await createByApply(*kind, child))
        co_return;
      if (std::optional<ApiError> error = co_await read(*kind, child.key)) {
        failures.push_back(failureOf(child.key, *error));
        co_return;
      }
    }
    const kube::Cached* live = observed_.find(child.key);
    Document memory;
    const bool applied = live != nullptr && !live->ownedFields.empty();
    const render::Step step =
        render::stepFor(child, live == nullptr ? nullptr : &live->object, applied, memory.GetAllocator());
    switch (step.action) {
      case render::Action::Leave:
        break;
      case render::Action::Wait:
        failures.push_back({.message = step.reason, .transient = true, .waits = true});
        break;
      case render::Action::Refuse:
        failures.push_back({.message = step.reason,
                            .transient = step.passing,
                            .waits = step.passing,
                            .passing = step.passing});
        break;
      case render::Action::Create:
        co_await create(kind->resource, child.key, json::dump(*step.object));
        break;
      case render::Action::Replace:
        co_await replace(*kind, child.key, *step.object, live->object);
        break;
      case render::Action::Apply:
        co_await applyIfDifferent(*kind, child.key, *step.object, live, memory.GetAllocator());
        break;
    }
  }

  std::vector<lifecycle::Failure> failures;

 private:
  void readCached(const k8s::ObjectKey& key) {
    if (observed_.find(key) != nullptr) return;
    if (std::optional<kube::Cached> cached = environment_.cache.find(key)) observed_.put(std::move(*cached));
  }

  /// Adds the live object to `observed_` if it exists.
  Task<std::optional<ApiError>> read(const WatchedKind& kind, const k8s::ObjectKey& key) {
    auto got = co_await environment_.client.get(kind.resource, key.namespaceName, key.name);
    if (auto* error = std::get_if<ApiError>(&got)) {
      if (error->reason == kube::Reason::NotFound) co_return std::nullopt;
      co_return std::move(*error);
    }
    observed_.put(withOwnership(std::move(std::get<Document>(got))));
    co_return std::nullopt;
  }

  /// Creates a child with an apply request without force. Returns false if an object with that name may
  /// exist: its values conflict, or it has another controller.
  Task<bool> createByApply(const WatchedKind& kind, const render::Child& child) {
    Document memory;
    const render::Step step = render::stepFor(child, nullptr, false, memory.GetAllocator());
    if (step.action != render::Action::Apply) co_return false;
    if (isSharedAndWritten(child.key, nullptr)) co_return true;
    const kube::Cache::Writing writing{environment_.cache, child.key};
    auto answer =
        co_await send(kind.resource, child.key, kube::PatchType::Apply, json::dump(*step.object), false);
    if (auto* error = std::get_if<ApiError>(&answer)) {
      if (error->reason == kube::Reason::Conflict || error->reason == kube::Reason::Invalid) co_return false;
      failures.push_back(failureOf(child.key, *error));
      co_return true;
    }
    took(kind, child.key, *step.object, std::move(std::get<Document>(answer)));
    co_return true;
  }

  Task<void> applyIfDifferent(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& wanted,
                              const kube::Cached* live, json::Allocator& allocator) {
    if (live != nullptr && render::needsTakeover(live->object, !live->ownedFields.empty())) {
      const kube::Cache::Writing writing{environment_.cache, key};
      auto taken = co_await takeOver(environment_.client, kind.resource, key, wanted);
      if (auto* error = std::get_if<ApiError>(&taken)) {
        failures.push_back(failureOf(key, *error));
        co_return;
      }
      if (auto& stored = std::get<std::optional<Document>>(taken)) {
        if (isWatched(kind, *stored)) environment_.cache.wrote(*stored, writer_);
        observed_.put(withOwnership(std::move(*stored)));
      }
      live = observed_.find(key);
    }
    Value object = json::copy(wanted, allocator);
    if (live != nullptr && live->replicasOwnedByOther) render::leaveReplicas(object);
    if (live != nullptr) {
      Document owned;
      const bool known = !live->ownedFields.empty() && !json::parse(live->ownedFields, owned);
      const std::optional<k8s::Drift> drift = k8s::findDrift(object, live->object, known ? &owned : nullptr);
      const bool differs = drift && !isSettled(key, object, live->object);
      // The owners of shared objects change without this reconcile.
      const bool shared = isShared(key);
      if (!differs && (shared || !environment_.applied.changed(key, object))) co_return;
      kLog.debug("child differs", {{"object", k8s::toText(key)}, {"path", drift ? drift->path : ""}});
    }
    co_await patch(kind, key, object, live == nullptr ? nullptr : &live->object);
  }

  static bool isShared(const k8s::ObjectKey& key) {
    return render::childKind(key).policy == render::Policy::Shared;
  }

  /// Returns the apply request for `wanted`. That of a shared object fails if `live` (nullptr: there is none)
  /// has changed: a list of owners is applied as a whole, so an owner that was added meanwhile would go.
  static std::string applyRequest(const k8s::ObjectKey& key, const Value& wanted, const Value* live) {
    const std::string_view version =
        live == nullptr ? "" : json::findText(lifecycle::metadataOf(*live), "resourceVersion");
    if (version.empty() || !isShared(key)) return json::dump(wanted);
    Document request;
    json::Allocator& allocator = request.GetAllocator();
    request.CopyFrom(wanted, allocator);
    json::set(*json::find(request, "metadata"), "resourceVersion", json::string(version, allocator),
              allocator);
    return json::dump(request);
  }

  /// Returns true and adds a conflict if another reconcile writes the shared object now, or has created it
  /// since this one did not find it (`live` is nullptr). An object that does not exist has no version to
  /// require.
  bool isSharedAndWritten(const k8s::ObjectKey& key, const Value* live) {
    if (!isShared(key)) return false;
    const bool created = live == nullptr && environment_.cache.contains(key);
    if (!created && !environment_.cache.isBeingWritten(key)) return false;
    failures.push_back({.message = fmt::format("{} is being written", k8s::toText(key)),
                        .transient = true,
                        .type = kConflictError});
    return true;
  }

  bool isSettled(const k8s::ObjectKey& key, const Value& wanted, const Value& live) const {
    const auto found = environment_.settled.find(key);
    return found != environment_.settled.end() &&
           found->second == Settled{contentDigest(wanted), contentDigest(live)};
  }

  Task<void> patch(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& wanted,
                   const Value* live) {
    if (isSharedAndWritten(key, live)) co_return;
    const kube::Cache::Writing writing{environment_.cache, key};
    auto answer = co_await send(kind.resource, key, kube::PatchType::Apply, applyRequest(key, wanted, live));
    const auto* refused = std::get_if<ApiError>(&answer);
    if (live != nullptr && refused != nullptr && isMergeError(*refused)) {
      Document memory;
      std::string body = json::dump(replacementOf(wanted, memory.GetAllocator()));
      auto replaced = co_await send(kind.resource, key, kube::PatchType::Merge, std::move(body));
      // The merge patch owns the fields, too: they would stay when they are no longer applied.
      std::optional<Document> now;
      if (std::holds_alternative<Document>(replaced)) {
        auto taken = co_await takeOver(environment_.client, kind.resource, key, wanted);
        if (auto* stored = std::get_if<std::optional<Document>>(&taken)) now = std::move(*stored);
      }
      if (now)
        answer = co_await send(kind.resource, key, kube::PatchType::Apply, applyRequest(key, wanted, &*now));
    }
    if (auto* error = std::get_if<ApiError>(&answer)) {
      failures.push_back(failureOf(key, *error));
      co_return;
    }
    took(kind, key, wanted, std::move(std::get<Document>(answer)));
  }

  void took(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& wanted, Document answer) {
    if (isWatched(kind, answer)) environment_.cache.wrote(answer, writer_);
    environment_.applied.remember(key, wanted);
    rememberSettled(key, wanted, answer);
    observed_.put(withOwnership(std::move(answer)));
  }

  Task<kube::Result<Document>> send(const kube::Resource& resource, const k8s::ObjectKey& key,
                                    kube::PatchType type, std::string body, bool force = true) {
    kube::PatchOptions options;
    options.force = force;
    options.fieldManager = kFieldManager;
    auto answer = co_await environment_.client.patch(resource, key.namespaceName, key.name, type,
                                                     std::move(body), options);
    co_return answer;
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
        key, Settled{contentDigest(wanted), contentDigest(cached ? cached->object : answer)});
    kLog.warn("the API server changed an applied value",
              {{"object", k8s::toText(key)}, {"path", drift->path}});
  }

  Task<void> create(const kube::Resource& resource, const k8s::ObjectKey& key, std::string body) {
    const kube::Cache::Writing writing{environment_.cache, key};
    auto answer = co_await environment_.client.create(resource, key.namespaceName, std::move(body));
    if (auto* error = std::get_if<ApiError>(&answer)) {
      if (error->reason != kube::Reason::AlreadyExists) failures.push_back(failureOf(key, *error));
      co_return;
    }
    Document& object = std::get<Document>(answer);
    environment_.cache.wrote(object, writer_);
    observed_.put(withOwnership(std::move(object)));
  }

  Task<void> replace(const WatchedKind& kind, const k8s::ObjectKey& key, const Value& wanted,
                     const Value& live) {
    const kube::Preconditions same{std::string{lifecycle::uidOf(live)}};
    const Removal removal = co_await removeObject(environment_, kind.resource, key, same, writer_);
    if (removal.failure) {
      failures.push_back(*removal.failure);
    } else if (!removal.gone) {
      failures.push_back(beingDeleted(key));
    } else {
      observed_.remove(key);
      co_await patch(kind, key, wanted, nullptr);
    }
  }

  Environment& environment_;
  Observed& observed_;
  std::string writer_;
};

}  // namespace

Task<std::vector<lifecycle::Failure>> applyChildren(Environment& environment,
                                                    const render::Children& children, Observed& observed,
                                                    std::string writer) {
  Run run{environment, observed, std::move(writer)};
  const std::vector<std::size_t> order = render::creationOrder(children);
  for (std::size_t i = 0; i < order.size();) {
    const render::Stage stage = children.items[order[i]].stage;
    runtime::TaskGroup group{environment.loop};
    for (; i < order.size() && children.items[order[i]].stage == stage; ++i)
      group.spawn(run.apply(children.items[order[i]]));
    co_await group.join();
  }
  co_return std::move(run.failures);
}

}  // namespace dynamo::controller
