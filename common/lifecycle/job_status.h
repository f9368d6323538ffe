#pragma once
// How a Job has ended, and why its pods failed.

#include <span>
#include <string>
#include <string_view>

#include "common/json/value.h"
#include "common/k8s/object_key.h"

namespace dynamo::lifecycle {

enum class JobState {
  Running,   ///< also: it has not begun, or is suspended
  Complete,  ///< the condition Complete is true
  Failed,    ///< the condition Failed is true
};

/// The state by the conditions of the Job. Counts of pods decide nothing: a Job may need several pods
/// (decision ctl-Q9).
JobState jobState(const json::Value& job);

/// Whether the object of `key` among `objects`, which `owner` does not control, is about to go: it is being
/// deleted, or it belongs to an earlier object of the kind and the name of `owner` (decision life-Q8).
bool isOfPredecessor(std::span<const json::Value* const> objects, const k8s::ObjectKey& key,
                     const json::Value& owner);

/// Whether the Job controller has made the pod for the Job.
bool isPodOfJob(const json::Value& pod, const json::Value& job);

/// A state of a container of the pod, as "terminated"; nullptr if it is in another one or not known.
const json::Value* containerState(const json::Value& pod, std::string_view container, std::string_view state);

/// Why the Job failed: the message of its condition, and how the container `container` of the latest failed
/// pod ended. `pods`: of the namespace; pods of others are ignored. Never empty.
std::string jobFailure(const json::Value& job, std::string_view container,
                       std::span<const json::Value* const> pods);

}  // namespace dynamo::lifecycle
