#pragma once
// Whether workers that run are those that are wanted, although their hash is another (quirk ctl-Q31).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/render/children.h"

namespace dynamo::lifecycle {

/// The hash for the view and for rendering: the one that the graph's annotation has, when there is a live
/// component of it for every worker of `rendered`, made with the hash `computed`, and each equals what was
/// rendered in all that the hash covers (and in the graph's envs); else `computed`. What a hash is computed
/// from may change between releases, but workers roll only for what users change.
std::string keptHash(const json::Value& graph, std::string_view computed,
                     const std::vector<render::Child>& rendered,
                     std::span<const json::Value* const> components);

}  // namespace dynamo::lifecycle
