#include "controller/reconcile/owner.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {
namespace {

using json::Value;

/// The writer of changes of the cache that a read has found. No reconciler has this name, so it triggers all.
constexpr std::string_view kReader = "checkOwner";

/// A child without the labels of the watches is never in the cache.
bool isMissing(const render::Child& child, const kube::Cache& cache, const Observed& observed) {
  const WatchedKind* kind = findWatchedKind(child.key);
  return kind != nullptr && isWatched(*kind, child.object) && observed.find(child.key) == nullptr &&
         !cache.contains(child.key);
}

/// Whether a reconcile of `live` could have another result than one of `owner`.
bool differs(const Value& owner, const Value& live) {
  return lifecycle::uidOf(live) != lifecycle::uidOf(owner) ||
         lifecycle::generationOf(live) != lifecycle::generationOf(owner) || lifecycle::isBeingDeleted(live);
}

}  // namespace

runtime::Task<OwnerRead> readOwner(Environment& environment, const Value& owner) {
  const k8s::ObjectKey key = k8s::keyOf(owner);
  const WatchedKind* kind = findWatchedKind(key);
  if (kind == nullptr) co_return OwnerRead{};
  auto got = co_await environment.client.get(kind->resource, key.namespaceName, key.name);
  if (auto* error = std::get_if<kube::ApiError>(&got)) {
    if (error->reason != kube::Reason::NotFound) co_return OwnerRead{.ending = failureOf(key, *error)};
    environment.cache.deleted(key, lifecycle::uidOf(owner), kReader);
    co_return OwnerRead{};
  }
  const json::Document live = std::move(std::get<json::Document>(got));
  if (!differs(owner, live)) co_return OwnerRead{.present = true};
  environment.cache.wrote(live, kReader);
  co_return OwnerRead{};
}

runtime::Task<std::optional<ReconcileResult>> checkOwner(Environment& environment, const Value& owner,
                                                         const render::Children& children,
                                                         const Observed& observed) {
  const bool complete = std::none_of(children.items.begin(), children.items.end(), [&](const auto& child) {
    return isMissing(child, environment.cache, observed);
  });
  if (complete || json::findObject(&owner, "status") == nullptr) co_return std::nullopt;
  OwnerRead read = co_await readOwner(environment, owner);
  if (read.present) co_return std::nullopt;
  co_return ReconcileResult{.ending = std::move(read.ending)};
}

}  // namespace dynamo::controller
