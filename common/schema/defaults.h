#pragma once
// Defaults of the schema, as the API server fills them in.

#include "common/json/value.h"

namespace dynamo::schema {

struct Node;

/// Makes of `value` what the API server makes of it before it calls webhooks: nulls that the schema does not
/// allow go away, then absent members get the schema's defaults wherever their parent is present. Members
/// that the schema does not know stay as they are.
void applyDefaults(const Node& node, json::Value& value, json::Allocator& allocator);

}  // namespace dynamo::schema
