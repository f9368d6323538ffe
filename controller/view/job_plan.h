#pragma once
// Plans what a DynamoGraphDeploymentRequest or DynamoCheckpoint creates after a change.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/render/children.h"
#include "common/render/context.h"
#include "controller/view/child_changes.h"

namespace dynamo::view {

struct JobPlan {
  render::Children children;          ///< a Job and what it needs; without items if no Job is created
  std::vector<std::string> problems;  ///< why no Job can be created, one text each
  bool discovers = false;             ///< the hardware of the Job is discovered before it is created
};

/// Returns the keys of the objects that planJob reads: the Job, and the claim of a model cache.
std::vector<k8s::ObjectKey> readForJob(const json::Value& root);

/// Plans for a request (v1beta1) or checkpoint as it will be stored, with a uid and its status. `observed`
/// contains the objects of readForJob that exist. A request that is not Pending any more, and a checkpoint
/// that has its Job or has ended, create nothing. Hardware that a request does not say is not discovered: the
/// Job then has any.
JobPlan planJob(const json::Value& root, std::span<const json::Value* const> observed,
                const render::Context& context);

/// Returns the changes that a plan makes. `observed` must contain the live object of each planned child, with
/// managedFields. A Job that `root` already has is unchanged.
std::vector<ChildChange> changesOf(const json::Value& root, const JobPlan& plan,
                                   std::span<const json::Value* const> observed, std::string_view manager);

}  // namespace dynamo::view
