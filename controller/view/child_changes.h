#pragma once
// Computes how a controller will change the children of an object, from rendered and live children. Pure.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "common/k8s/object_key.h"
#include "common/render/children.h"
#include "controller/view/style.h"

namespace dynamo::view {

enum class ChangeKind {
  Unchanged,
  Created,
  Changed,
  Replaced,  ///< deleted and created again, because an immutable field differs
  Deleted,
  Refused  ///< the controller cannot write it
};

struct ChildChange {
  ChangeKind kind = ChangeKind::Unchanged;
  k8s::ObjectKey key;
  std::string note;    ///< further information; may be empty
  std::string before;  ///< YAML; both are empty if lines are not shown
  std::string after;
};

/// Returns the change of `child`. `live` is the object in the cluster with managedFields, or nullptr.
/// `manager` is the field manager of the controller. A transfer of ownership without a different value is not
/// a change.
ChildChange changeOf(const render::Child& child, const json::Value* live, std::string_view manager);

/// Returns the change of a child that replaces `earlier`, the same child of an earlier worker generation.
/// Names that differ only in the hash of the generation count as equal.
ChildChange successorOf(const render::Child& child, const json::Value& earlier, std::string_view earlierHash,
                        std::string_view hash, std::string_view manager);

/// Returns the change of `live` by a merge patch that sets fields of the spec.
ChildChange patchOf(const json::Value& live, const json::Value& patch);

ChildChange unchanged(const json::Value& live);

ChildChange deletionOf(const json::Value& live, std::string note);

/// Returns true if the changes contain a difference.
bool differs(const std::vector<ChildChange>& changes);

/// Returns one line per change: "+ Deployment demo/a", "~ Service demo/b" followed by the changed lines, or
/// "- ConfigMap demo/c". Unchanged children are omitted.
std::string toText(const std::vector<ChildChange>& changes, const Style& style);

/// Returns a summary such as "2 created, 1 changed, 3 unchanged".
std::string summaryOf(const std::vector<ChildChange>& changes);

}  // namespace dynamo::view
