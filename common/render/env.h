#pragma once
// Environment variables.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "common/defaults/placeholders.h"
#include "common/json/value.h"
#include "common/render/component.h"

namespace dynamo::render {

/// All layers as one, entry by entry by name, sorted by name: of a name the last entry of the last layer
/// counts. A layer may be nullptr.
std::vector<const json::Value*> mergedEnv(std::initializer_list<const json::Value*> layers);

/// mergedEnv() as a list of copies.
json::Value mergeEnv(std::initializer_list<const json::Value*> layers, json::Allocator& allocator);

/// What the defaults of `componentType` call the component's names.
defaults::Placeholders placeholdersOf(const Component& component, std::string_view componentType);

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
