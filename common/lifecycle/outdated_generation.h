#pragma once
// Worker generations that their graph wants no more (decision ctl-Q70). They serve until the rolling update
// has replaced them, so they are scaled and never rendered again: another release renders other pods, and
// the old ones would be replaced twice, by pods that nobody wants.

#include <optional>
#include <span>

#include "common/lifecycle/outcome.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

/// Whether `deployment` is a worker generation that its graph does not want. `observed` has the graph and its
/// components; without the graph, the answer is no.
bool isOutdatedGeneration(const json::Value& deployment, std::span<const json::Value* const> observed,
                          const render::Context& context);

/// Leaves the children alone that exist and that `deployment` controls.
void keepChildren(const json::Value& deployment, std::span<const json::Value* const> observed,
                  render::Children& children);

/// The write that gives the Deployment `workload` (nullptr: there is none) of an outdated generation the
/// replicas of its spec. Each new number is written once, because somebody else may scale the Deployment
/// (decision ctl-Q45), except for 0.
std::optional<Write> scaleOutdated(const json::Value& deployment, const json::Value* workload,
                                   json::Allocator& allocator);

}  // namespace dynamo::lifecycle
