#pragma once
// The pathway of a graph (quirk child-Q23). Children of the other pathway are surplus (surplus.h).

#include <optional>
#include <span>

#include "common/json/value.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

/// Whether the graph runs on Grove. The annotation enable-grove decides if it is "true" or "false", then the
/// existing children, then configuration and facts. A graph that runs on Grove stays there when the
/// configuration turns Grove off. Without Grove's API the result is false.
bool selectsGrove(const json::Value& graph, const render::Context& context,
                  std::span<const json::Value* const> components, const json::Value* podCliqueSet);

/// Whether the children that exist, and are not being deleted, run on Grove; nullopt: the graph has none.
std::optional<bool> runsOnGrove(const json::Value& graph, std::span<const json::Value* const> components,
                                const json::Value* podCliqueSet);

}  // namespace dynamo::lifecycle
