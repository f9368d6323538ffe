#pragma once
// Determines which objects are reconciled after a change in the cache.

#include <functional>
#include <string_view>
#include <vector>

#include "controller/kube/cache.h"

namespace dynamo::controller {

/// Returns the objects to reconcile after `change`. A reconciler is not triggered by its own writes, because
/// it has already processed their replies. `cache` must already contain the change.
std::vector<k8s::ObjectKey> triggeredBy(const kube::Change& change, const kube::Cache& cache);

}  // namespace dynamo::controller
