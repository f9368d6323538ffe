#pragma once
// Children that exist but are no longer rendered (quirks child-Q23, child-Q24).

#include <span>
#include <vector>

#include "common/lifecycle/outcome.h"
#include "common/render/children.h"

namespace dynamo::lifecycle {

/// Deletions of the `observed` objects that `owner` controls, whose kind is applied (render/child_kinds.h),
/// and that are not in `rendered`. Old worker generations stay: the rolling update deletes them. `rendered`
/// must be complete, so the function must not be called after a rendering with errors.
///
/// The Service of a model that `owner` no longer uses is deleted, too (quirk child-Q6). If it has other
/// owners, only the reference to `owner` is removed. A component of a graph leaves it to the graph. It stays
/// while an observed worker generation serves the model, unless one of the `earlier` writes deletes that
/// generation.
std::vector<Write> surplusChildren(const json::Value& owner, const std::vector<render::Child>& rendered,
                                   std::span<const json::Value* const> observed, json::Allocator& allocator,
                                   std::span<const Write> earlier = {});

}  // namespace dynamo::lifecycle
