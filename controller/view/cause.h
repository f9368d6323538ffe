#pragma once
// The one cause why an object is not ready, and what to do about it. Pure.

#include <cstddef>
#include <optional>
#include <string>

#include "controller/view/object_tree.h"
#include "controller/view/status_tree.h"
#include "controller/view/style.h"

namespace dynamo::view {

struct Cause {
  /// Of a pod or another object (lifecycle/readiness.h, pod_failures.h), or of the condition of the object
  /// itself; may be empty.
  std::string reason;
  std::string message;     ///< may be empty
  std::string object;      ///< "Pod llama-worker-0"; empty: the object itself
  std::string service;     ///< that the object belongs to; empty: none
  std::size_t same = 0;    ///< how many further objects have the same cause
  std::size_t others = 0;  ///< how many further objects are not ready for another reason
  std::string advice;      ///< what to do, one or two sentences
};

/// Returns the cause, or nullopt if the object is ready. It is what the operator could not do, else the cause
/// of the lowest object that is not ready. Causes that a user can remove come before a lack of capacity,
/// which may end by itself. Objects of an earlier worker generation and pods that have ended are no cause.
std::optional<Cause> causeOf(const GraphTree& tree);
std::optional<Cause> causeOf(const ObjectTree& tree);

/// Returns the lines for people. `what`: "DynamoGraphDeployment demo/llama".
std::string toText(const std::string& what, const std::optional<Cause>& cause, const Style& style);

/// Returns one line of JSON.
std::string toJson(const std::string& kind, const std::string& namespaceName, const std::string& name,
                   const std::optional<Cause>& cause);

}  // namespace dynamo::view
