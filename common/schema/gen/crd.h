#pragma once
// CustomResourceDefinitions out of the model (spec/api-v1alpha1.md sections 1, 2 and 14).

#include "common/json/value.h"
#include "common/schema/gen/model.h"

namespace dynamo::schema::gen {

/// The CustomResourceDefinition of `kind`, allocated in the model's document.
json::Value makeCrd(Model& model, const Kind& kind);

}  // namespace dynamo::schema::gen
