#pragma once
// The pods of a Job as the API server has them, and the Events about those that could not be created. How a
// Job has failed is told once, and the cache may lack how its last pod ended.

#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/ending.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Returns the PodList of a Job.
runtime::Task<std::variant<json::Document, lifecycle::Ending>> listPodsOf(Environment& environment,
                                                                          const json::Value& job);

/// Returns the list of Events about pods that could not be created; null if the Job has pods or needs none,
/// or if the controller may not read Events. `pods` may contain other objects. The API server keeps Events in
/// etcd only, so they are not watched, and read only for Jobs that should have pods. The arguments must
/// outlive the task.
runtime::Task<std::variant<json::Document, lifecycle::Ending>> readFailedCreates(
    Environment& environment, const json::Value& job, std::span<const json::Value* const> pods);

/// The items of a list of the core API. Sets apiVersion and kind, which they lack. The list may be null.
std::vector<const json::Value*> itemsOf(json::Document& list, std::string_view kind);

}  // namespace dynamo::controller
