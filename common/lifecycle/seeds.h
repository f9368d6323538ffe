#pragma once
// Fields of children that are written once and are others' from then on (quirk child-Q12).

#include "common/json/value.h"

namespace dynamo::lifecycle {

/// What is applied of the rendered `child` once the object exists: of a scaling adapter, all but its
/// replicas, which autoscalers change. The object is made with another field manager than it is applied with:
/// a field that a manager stops to apply is taken away.
json::Value withoutSeeds(const json::Value& child, json::Allocator& allocator);

}  // namespace dynamo::lifecycle
