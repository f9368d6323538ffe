#pragma once
// What a controller does so that a rendered child is in the cluster: creating it, adopting what is there
// (child_kinds.h). Decisions child-Q1, child-Q6, child-Q12, child-Q40, dec-11.

#include <cstdint>
#include <string>

#include "common/render/children.h"

namespace dynamo::render {

enum class Action : std::uint8_t {
  Apply,    ///< server-side apply `object`; what is not there is created
  Create,   ///< create `object`; that it exists meanwhile is no error
  Leave,    ///< nothing
  Replace,  ///< delete what is there, then apply: a field differs that cannot change
  Wait,     ///< what is there is being deleted; its deletion is an event
  Refuse    ///< another object controls what is there; `reason` says which
};

struct Step {
  Action action = Action::Leave;
  const json::Value* object =
      nullptr;  ///< the child's, or a changed copy in `allocator`; nullptr: nothing is written
  std::string reason;
};

/// What to do with `child` where `live` (nullptr: nothing) is in the cluster under its key. Of `live` are
/// read: deletionTimestamp, ownerReferences and roleRef. The child must outlive the result.
///
/// The replicas of a scaling adapter are written at its creation only (child-Q12). It is created, not
/// applied: a field that a field manager no longer applies is removed, unless another manager wrote it.
Step stepFor(const Child& child, const json::Value* live, json::Allocator& allocator);

}  // namespace dynamo::render
