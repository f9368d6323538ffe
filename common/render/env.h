#pragma once
// Environment variables that backends and checkpoints add to a container.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// Adds a variable that the backend needs, at the end, unless the name is there (quirk pod-Q2). False: it is.
bool appendEnv(json::Value& container, json::Value&& variable, json::Allocator& allocator);

bool hasEnv(const json::Value& container, std::string_view name);

}  // namespace dynamo::render
