#pragma once
// Children that an object has and no longer wants (quirks child-Q23, child-Q24).

#include <span>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

/// Deletions of those of `observed` that `owner` controls, that are applied (child_kinds.h), and that it did
/// not render in this pass. Old generations of workers stay until their rolling update ends: that deletes
/// them. Not to be asked after a pass with errors, whose children are not all there.
std::vector<Write> surplusChildren(const json::Value& owner, const std::vector<render::Child>& rendered,
                                   std::span<const json::Value* const> observed);

}  // namespace dynamo::lifecycle
