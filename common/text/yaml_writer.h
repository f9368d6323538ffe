#pragma once
// JSON values as readable block YAML.

#include <string>

#include "common/json/value.h"

namespace dynamo::text {

/// `value` as a YAML document without the leading "---". Members keep their order; strings are quoted
/// whenever a YAML 1.1 or 1.2 reader could take them for something else.
std::string toYaml(const json::Value& value);

}  // namespace dynamo::text
