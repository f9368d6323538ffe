#pragma once
// Merges layers of environment variables.

#include <initializer_list>
#include <span>
#include <vector>

#include "common/json/value.h"
#include "common/model/origin.h"

namespace dynamo::model {

/// The variables of all layers, sorted by name. If a name is repeated, the last entry of the last layer takes
/// precedence. A layer may be nullptr.
std::vector<const json::Value*> mergedEnv(std::initializer_list<const json::Value*> layers);

/// The variables of mergedEnv() as a list of copies.
json::Value copyEnv(const std::vector<const json::Value*>& variables, json::Allocator& allocator);

/// A layer, and the origin of its items.
struct EnvLayer {
  const json::Value* list;
  Origin origin;                  ///< of the list
  rapidjson::SizeType first = 0;  ///< index of the first item at origin.field
};

/// Records the origins of the variables of mergedEnv(), which will be the list at `at`.
void recordEnv(const std::vector<const json::Value*>& variables, std::initializer_list<EnvLayer> layers,
               const field::Path& at, Origins& origins);

}  // namespace dynamo::model
