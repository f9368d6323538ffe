#pragma once
// What is rendered of an object that admission did not see, to be compared with what is rendered of one that
// it did (law 4 of defaults): shared by the laws and the fuzz target.

#include <string_view>

#include "common/json/value.h"
#include "common/render/children.h"

namespace dynamo::render::test {

void annotate(json::Value& object, std::string_view key, std::string_view value, json::Allocator& allocator);

/// `object` with what children show of admission: the version that it stamps, and `replicas` 1 where it gave
/// it. Without it a Deployment has none, so that an autoscaler's count stays (quirks child-Q36), and the API
/// server's default is the same 1.
json::Value stamped(const json::Value& object, const json::Value& admitted, json::Allocator& allocator);

/// What a difference of children is looked for in. A component deployment of a graph carries what its service
/// has, so before admission its spec is shorter; what is made of it is compared whole.
const json::Value& compared(const Child& child);

}  // namespace dynamo::render::test
