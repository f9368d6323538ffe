#include "controller/reconcile/removal.h"

#include <fmt/format.h>

#include <chrono>
#include <variant>

#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

/// The words of the reference for the label error_type.
std::string_view errorType(const kube::ApiError& error) {
  constexpr int kServerTimeout = 500;  // the HTTP status of the reason ServerTimeout; Timeout has 504
  switch (error.reason) {
    case kube::Reason::NotFound:
      return lifecycle::kNotFoundError;
    case kube::Reason::AlreadyExists:
      return "already_exists";
    case kube::Reason::Conflict:
      return lifecycle::kConflictError;
    case kube::Reason::Invalid:
      return lifecycle::kInvalidError;
    case kube::Reason::BadRequest:
      return lifecycle::kBadRequestError;
    case kube::Reason::Unauthorized:
      return "unauthorized";
    case kube::Reason::Forbidden:
      return "forbidden";
    case kube::Reason::Timeout:
      return error.status == kServerTimeout ? "server_timeout" : "timeout";
    case kube::Reason::Unavailable:
      return "unavailable";
    case kube::Reason::TooManyRequests:
      return "rate_limited";
    default:
      return lifecycle::kInternalError;
  }
}

/// An API server that starts answers with the first three before it knows its roles, its tokens and its
/// resources. Gone says that something is too old, not that the object is wrong.
bool mayPass(kube::Reason reason) {
  return reason == kube::Reason::Unauthorized || reason == kube::Reason::Forbidden ||
         reason == kube::Reason::NotFound || reason == kube::Reason::Gone;
}

}  // namespace

lifecycle::Ending failureOf(const k8s::ObjectKey& key, const kube::ApiError& error) {
  std::string message = fmt::format("{}: {}", k8s::toText(key), error.message);
  if (error.reason == kube::Reason::Conflict) return lifecycle::Conflict{std::move(message)};
  if (!error.transient() && !mayPass(error.reason))
    return lifecycle::Permanent{std::move(message), errorType(error)};
  return lifecycle::Transient{std::move(message), errorType(error),
                              error.retryAfter.value_or(std::chrono::seconds{0})};
}

runtime::Task<std::variant<json::Document, lifecycle::Ending>> readObject(Environment& environment,
                                                                          k8s::ObjectKey key) {
  if (key.name.empty()) co_return json::Document{};
  auto got = co_await environment.client.get(resourceOf(key.group, key.kind), key.namespaceName, key.name);
  if (auto* error = std::get_if<kube::ApiError>(&got)) {
    if (error->reason == kube::Reason::NotFound) co_return json::Document{};
    co_return failureOf(key, *error);
  }
  co_return std::move(std::get<json::Document>(got));
}

runtime::Task<lifecycle::Ending> removeObject(Environment& environment, const kube::Resource& resource,
                                              k8s::ObjectKey key, kube::Preconditions same,
                                              std::string writer) {
  const kube::Cache::Writing writing{environment.cache, key};
  auto answer = co_await environment.client.remove(resource, key.namespaceName, key.name, same, "Background");
  if (auto* error = std::get_if<kube::ApiError>(&answer)) {
    if (error->reason != kube::Reason::NotFound) co_return failureOf(key, *error);
  } else {
    // The reply is the object if finalizers keep it, otherwise a Status.
    const json::Document& left = std::get<json::Document>(answer);
    if (json::findText(&left, "kind") == key.kind && lifecycle::isBeingDeleted(left) &&
        json::find(lifecycle::metadataOf(left), "finalizers") != nullptr) {
      environment.cache.wrote(left, writer);
      co_return lifecycle::LookAgain{fmt::format("{} is being deleted", k8s::toText(key))};
    }
  }
  environment.cache.deleted(key, same.uid, writer);
  co_return lifecycle::Done{};
}

}  // namespace dynamo::controller
