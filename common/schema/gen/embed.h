#pragma once
// The runtime schema: what the validator needs of the model, as C++ source.

#include <string>

#include "common/schema/gen/model.h"

namespace dynamo::schema::gen {

/// {"types": {...}, "rules": {name: message}, "kinds": {"Kind/version": node}} as compact JSON, without
/// descriptions. Types stay shared by "$ref".
std::string makeRuntimeSchema(Model& model);

/// A C++ file that defines dynamo::schema::embeddedSchema(), which returns `text`.
std::string toSource(const std::string& text);

}  // namespace dynamo::schema::gen
