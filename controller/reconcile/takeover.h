#pragma once
// Takes over a child that the reference operator has written (decision child-Q4).

#include <optional>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/runtime/task.h"
#include "controller/kube/client.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {

/// Returns the object as it is stored, or nullopt if it does not exist. The controller may list all kinds,
/// but may not get objects of those that it watches as a whole.
runtime::Task<kube::Result<std::optional<json::Document>>> readLive(kube::Client& client,
                                                                    const WatchedKind& kind,
                                                                    k8s::ObjectKey key);

/// Makes this controller the owner of all fields of the object `key` that the reference operator has written.
/// `wanted` is the object that is applied next; it must outlive the task. Returns the object as it is stored
/// then, or nullopt if it does not exist.
runtime::Task<kube::Result<std::optional<json::Document>>> takeOver(kube::Client& client,
                                                                    kube::Resource resource,
                                                                    k8s::ObjectKey key,
                                                                    const json::Value& wanted);

}  // namespace dynamo::controller
