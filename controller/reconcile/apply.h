#pragma once
// Writes rendered children to the cluster. render/write_plan.h decides what is written.

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/outcome.h"
#include "common/render/children.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/observed.h"

namespace dynamo::controller {

struct AppliedChildren {
  std::vector<lifecycle::Ending> failures;   ///< in the order of the keys of the children
  std::vector<render::WriteNotice> notices;  ///< in the same order
  /// When a child should be written that was left out because somebody keeps changing it.
  std::optional<std::chrono::milliseconds> again;
  /// The owner was deleted or replaced; the cache knows by now. Nothing else should be written for it.
  bool ownerGone = false;
};

/// The entry of Environment::told for a notice about a child of `owner`.
std::string toldKey(const json::Value& owner, const render::WriteNotice& notice);
/// Forgets what a deleted owner has told about.
void forgetTold(std::set<std::string>& told, const json::Value& owner);

/// Writes the children of `owner` that differ from the live ones: stage by stage, and the children of one
/// stage concurrently. A failure of one child does not stop the others, except Jobs: what their pods need
/// comes first. The replies of the API server are stored in `observed` and the cache. `writer` is
/// Change::writer of these writes. The arguments must outlive the task.
runtime::Task<AppliedChildren> applyChildren(Environment& environment, const json::Value& owner,
                                             const render::Children& children, Observed& observed,
                                             std::string writer);

}  // namespace dynamo::controller
