#include "controller/reconcile/removal.h"

#include <fmt/format.h>

#include <variant>

#include "common/lifecycle/object.h"

namespace dynamo::controller {

lifecycle::Failure failureOf(const k8s::ObjectKey& key, const kube::ApiError& error) {
  return {fmt::format("{}: {}", k8s::toText(key), error.message), error.transient()};
}

runtime::Task<Removal> removeObject(Environment& environment, const kube::Resource& resource,
                                    k8s::ObjectKey key, kube::Preconditions same, std::string writer) {
  const kube::Cache::Writing writing{environment.cache, key};
  auto answer = co_await environment.client.remove(resource, key.namespaceName, key.name, same, "Background");
  Removal removal;
  if (auto* error = std::get_if<kube::ApiError>(&answer)) {
    if (error->reason != kube::Reason::NotFound) {
      removal.failure = failureOf(key, *error);
      co_return removal;
    }
  } else {
    // The reply is the object if finalizers keep it, otherwise a Status.
    const json::Document& left = std::get<json::Document>(answer);
    if (json::findText(&left, "kind") == key.kind && lifecycle::isBeingDeleted(left) &&
        json::find(lifecycle::metadataOf(left), "finalizers") != nullptr) {
      environment.cache.wrote(left, writer);
      co_return removal;
    }
  }
  environment.cache.deleted(key, same.uid, writer);
  removal.gone = true;
  co_return removal;
}

}  // namespace dynamo::controller
