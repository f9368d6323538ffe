#pragma once
// Layers of environment variables.

#include <initializer_list>
#include <vector>

#include "common/json/value.h"

namespace dynamo::model {

/// All layers as one, entry by entry by name, sorted by name: of a name the last entry of the last layer
/// counts. A layer may be nullptr.
std::vector<const json::Value*> mergedEnv(std::initializer_list<const json::Value*> layers);

/// mergedEnv() as a list of copies.
json::Value mergeEnv(std::initializer_list<const json::Value*> layers, json::Allocator& allocator);

}  // namespace dynamo::model
