#pragma once
// Notices that an owner was deleted or changed before its watch reports it. Decision dec-19.

#include <optional>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/render/children.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/observed.h"

namespace dynamo::controller {

/// What the API server says of an owner that the cache has.
struct OwnerRead {
  bool present = false;           ///< the same object exists, is not being deleted and has the same spec
  lifecycle::Ending ending = {};  ///< how the read ended
};

/// Reads an owner from the API server. The cache then has its state. The arguments must outlive the task.
runtime::Task<OwnerRead> readOwner(Environment& environment, const json::Value& owner);

/// The deletion of an owner and those of its children are reported by different watches. If the watch of the
/// owner is late, its children seem to be missing. The garbage collector would delete new ones again, without
/// end. So an owner that has a status, but not all children, is read from the API server.
///
/// Returns the result of the reconcile if it must end here: the cache now has another state of the owner, or
/// the owner could not be read. The arguments must outlive the task.
runtime::Task<std::optional<ReconcileResult>> checkOwner(Environment& environment, const json::Value& owner,
                                                         const render::Children& children,
                                                         const Observed& observed);

}  // namespace dynamo::controller
