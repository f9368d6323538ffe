#pragma once
// Environment variables (spec/pod-defaults.md section 13).

#include <string_view>

#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// `specific` over `common`, entry by entry by name, sorted by name; of one list the last entry of a name
/// counts. Either may be nullptr.
json::Value mergeEnv(const json::Value* common, const json::Value* specific, json::Allocator& allocator);

/// The env map of a page of defaults as a list, placeholders filled in.
json::Value defaultEnv(const json::Value* map, const Component& component, std::string_view componentType,
                       json::Allocator& allocator);

/// What the operator's configuration and the component's discovery add: NATS_SERVER, DYN_DISCOVERY_BACKEND,
/// ….
json::Value standardEnv(const Component& component, const Context& context, json::Allocator& allocator);

/// Adds a variable that the backend needs, at the end, unless the name is there (quirk pod-Q2).
void appendEnv(json::Value& container, json::Value&& variable, json::Allocator& allocator);

bool hasEnv(const json::Value& container, std::string_view name);

}  // namespace dynamo::render
