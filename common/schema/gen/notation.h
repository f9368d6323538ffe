#pragma once
// The compact notation of kinds/*.yaml (explained at the top of kinds/dynamographdeployment.yaml), read into
// OpenAPI schema nodes. A named type becomes {"$ref": NAME}; members beside "$ref" add to or replace its own.
// Two more keys are ours, and no CRD has them: "rule" names a CEL rule, "scale" marks scaled replicas.

#include <yaml-cpp/yaml.h>

#include <string_view>

#include "common/json/value.h"

namespace dynamo::schema::gen {

/// The node of one line: `TYPE constraint... | description`. Throws std::runtime_error on a bad line.
json::Value readLine(std::string_view line, json::Allocator& allocator);

/// The node of a field: a line, or a mapping of fields whose own line stands under ".". Throws
/// std::runtime_error that names the field.
json::Value readField(const YAML::Node& field, json::Allocator& allocator);

}  // namespace dynamo::schema::gen
