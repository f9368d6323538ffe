#pragma once
// Reads or deletes one object.

#include <string>
#include <variant>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/runtime/task.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client_options.h"
#include "controller/kube/resource.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Returns the ending of a request for the object `key` that returned `error`.
lifecycle::Ending failureOf(const k8s::ObjectKey& key, const kube::ApiError& error);

/// Returns the object as the API server has it; null if it does not exist, or if the key has no name.
runtime::Task<std::variant<json::Document, lifecycle::Ending>> readObject(Environment& environment,
                                                                          k8s::ObjectKey key);

/// Deletes the object with background propagation and updates the cache. LookAgain: finalizers keep it.
/// Deleting an object that does not exist succeeds. `same` must contain the uid of the object. `writer` is
/// Change::writer.
runtime::Task<lifecycle::Ending> removeObject(Environment& environment, const kube::Resource& resource,
                                              k8s::ObjectKey key, kube::Preconditions same,
                                              std::string writer);

}  // namespace dynamo::controller
