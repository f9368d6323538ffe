#pragma once
// Deletes one object.

#include <optional>
#include <string>
#include <string_view>

#include "common/lifecycle/outcome.h"
#include "common/runtime/task.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client_options.h"
#include "controller/kube/resource.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// The type of the failure of a write that was based on an old version of an object.
inline constexpr std::string_view kConflictError = "conflict";

/// Returns the failure of a request for the object `key`.
lifecycle::Failure failureOf(const k8s::ObjectKey& key, const kube::ApiError& error);

struct Removal {
  std::optional<lifecycle::Failure> failure;
  bool gone = false;  ///< if false without a failure, finalizers still keep the object
};

/// Deletes the object with background propagation and updates the cache. Deleting an object that does not
/// exist succeeds. `same` must contain the uid of the object. `writer` is Change::writer.
runtime::Task<Removal> removeObject(Environment& environment, const kube::Resource& resource,
                                    k8s::ObjectKey key, kube::Preconditions same, std::string writer);

}  // namespace dynamo::controller
