#pragma once
// Reads the compact notation of kinds/*.yaml into OpenAPI schema nodes. The top of
// kinds/dynamographdeployment.yaml explains the notation. A named type becomes {"$ref": NAME}; members beside
// "$ref" extend or replace those of the type. Three keys are not part of OpenAPI and are not written to CRDs
// as such: "rule" names a CEL rule, "scale" marks scaled replicas, "keepsNulls" marks maps that keep null
// values.

#include <yaml-cpp/yaml.h>

#include <string_view>

#include "common/json/value.h"

namespace dynamo::schema::gen {

/// The node of one line: `TYPE constraint... | description`. Throws std::runtime_error on a bad line.
json::Value readLine(std::string_view line, json::Allocator& allocator);

/// The node of a field: a line, or a mapping of nested fields with the line of the field under ".". Throws
/// std::runtime_error with the name of the field.
json::Value readField(const YAML::Node& field, json::Allocator& allocator);

}  // namespace dynamo::schema::gen
