#pragma once
// Writes rendered children to the cluster. render/adopt.h decides how a child is written.

#include <string>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/children.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/observed.h"

namespace dynamo::controller {

/// Writes the children that differ from the live ones: stage by stage, and the children of one stage
/// concurrently. A failure of one child does not stop the others. Returns all failures. The replies of the
/// API server are stored in `observed` and the cache. `writer` is Change::writer of these writes. The
/// arguments must outlive the task.
runtime::Task<std::vector<lifecycle::Failure>> applyChildren(Environment& environment,
                                                             const render::Children& children,
                                                             Observed& observed, std::string writer);

}  // namespace dynamo::controller
