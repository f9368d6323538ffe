#pragma once
// The apply request of a child, and its repair if the API server refuses what it results in.

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/runtime/task.h"
#include "controller/kube/client.h"
#include "controller/kube/resource.h"

namespace dynamo::controller {

/// Applies `wanted`. The request for a shared object fails if `live` (nullptr: there is none) has changed,
/// because its list of owners is applied as a whole: an owner that was added meanwhile would go. The
/// arguments must outlive the task.
runtime::Task<kube::Result<json::Document>> applyChild(kube::Client& client, const kube::Resource& resource,
                                                       const k8s::ObjectKey& key, const json::Value& wanted,
                                                       bool force, const json::Value* live);

}  // namespace dynamo::controller
