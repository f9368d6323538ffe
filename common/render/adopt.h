#pragma once
// How a controller brings a rendered child into the cluster: whether it creates, applies, adopts or replaces
// the object (see child_kinds.h). Decisions child-Q1, child-Q6, child-Q12, child-Q40, ctl-Q51, ctl-Q52,
// dec-11.

#include <cstdint>
#include <string>

#include "common/render/children.h"

namespace dynamo::render {

enum class Action : std::uint8_t {
  Apply,    ///< server-side apply `object`; creates it if absent
  Create,   ///< create `object`; AlreadyExists is not an error
  Leave,    ///< no request
  Replace,  ///< delete the live object, then apply, because an immutable field differs
  /// The live object is being deleted, or the garbage collector will delete it because its owner is gone. The
  /// watch event of its deletion triggers the next attempt.
  Wait,
  Refuse  ///< the live object is not this operator's, as `reason` says
};

struct Step {
  Action action = Action::Leave;
  /// The object of the child, or a changed copy in `allocator`; nullptr if nothing is written.
  const json::Value* object = nullptr;
  std::string reason;  ///< of Wait and Refuse
  /// Of Refuse: the graph has changed its pathway, and the operator is about to delete the live object.
  bool passing = false;
};

/// The action for `child`. `live` is the object in the cluster with the same key, or nullptr. Only its
/// metadata and roleRef are read. `applied` tells whether this controller has applied it before. The child
/// must outlive the result.
///
/// The replicas of a scaling adapter are written at its creation only (child-Q12). Therefore it is created
/// and not applied: if it were applied, a later apply without replicas would remove the field.
Step stepFor(const Child& child, const json::Value* live, bool applied, json::Allocator& allocator);

/// Removes spec.replicas from an object that is going to be applied, because another manager sets them, such
/// as an autoscaler (decision ctl-Q45). 0 stays: it ends an earlier generation of workers, which would
/// otherwise keep its pods. Autoscalers do not scale from 0.
void leaveReplicas(json::Value& object);

}  // namespace dynamo::render
