#pragma once
// Generates CustomResourceDefinitions from the model.

#include "common/json/value.h"
#include "common/schema/gen/model.h"

namespace dynamo::schema::gen {

/// The CustomResourceDefinition of `kind`, allocated from the model's document.
json::Value makeCrd(Model& model, const Kind& kind);

}  // namespace dynamo::schema::gen
