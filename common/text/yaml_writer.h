#pragma once
// Writes JSON values as readable block YAML.

#include <string>

#include "common/json/value.h"

namespace dynamo::text {

/// `value` as a YAML document without the leading "---". Members keep their order. Strings are quoted if a
/// YAML 1.1 or 1.2 parser could interpret them as another type.
std::string toYaml(const json::Value& value);

}  // namespace dynamo::text
