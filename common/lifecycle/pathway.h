#pragma once
// Which pathway a graph takes (quirk child-Q23). What a switch leaves behind is surplus (surplus.h).

#include <span>

#include "common/json/value.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// Whether the graph is made through Grove: the annotation enable-grove decides when it says "true" or
/// "false", then the children that exist, then configuration and facts. A configuration that turns Grove off
/// does not move graphs that run on it. Never without Grove's API.
bool takesGrove(const json::Value& graph, const render::Context& context,
                std::span<const json::Value* const> components, const json::Value* podCliqueSet);

}  // namespace dynamo::lifecycle
