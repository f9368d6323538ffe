#pragma once
// Applies the defaults of a schema as the API server does.

#include "common/json/value.h"

namespace dynamo::schema {

struct Node;

/// Changes `value` as the API server does before it calls webhooks: removes nulls that the schema does not
/// allow, then sets absent members to their defaults wherever the parent is present. Unknown members are not
/// changed.
void applySchemaDefaults(const Node& node, json::Value& value, json::Allocator& allocator);

}  // namespace dynamo::schema
