#pragma once
// Generates the runtime schema for the validator as C++ source.

#include <string>

#include "common/schema/gen/model.h"

namespace dynamo::schema::gen {

/// {"types": {...}, "rules": {name: message}, "kinds": {"Kind/version": node}} as compact JSON, without
/// descriptions. "$ref" refers to shared types.
std::string makeRuntimeSchema(Model& model);

/// A C++ file that defines dynamo::schema::embeddedSchema(), which returns `text`.
std::string toSource(const std::string& text);

}  // namespace dynamo::schema::gen
