#pragma once
// The pods of a Job as the API server has them. How a Job has failed is told once, and the cache may lack how
// its last pod ended.

#include <variant>
#include <vector>

#include "common/lifecycle/ending.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// Returns the PodList of a Job.
runtime::Task<std::variant<json::Document, lifecycle::Ending>> listPodsOf(Environment& environment,
                                                                          const json::Value& job);

/// The pods of a PodList. Sets apiVersion and kind, which the items of a list lack.
std::vector<const json::Value*> itemsOf(json::Document& list);

}  // namespace dynamo::controller
