#pragma once
// Compares the children of an object that bypassed admission with those of an admitted object (law 4 of
// defaults). The laws and the fuzz target share these helpers.

#include <string_view>

#include "common/json/value.h"
#include "common/render/children.h"

namespace dynamo::render::test {

void annotate(json::Value& object, std::string_view key, std::string_view value, json::Allocator& allocator);

/// `object` with the changes of admission that appear in children: the origin version, and `replicas: 1`
/// where admission set it. Without replicas a Deployment has none, so an autoscaler's count is kept
/// (child-Q36). The API server's default is also 1.
json::Value stamped(const json::Value& object, const json::Value& admitted, json::Allocator& allocator);

/// The part of a child to compare. The spec of a graph's component deployment is a copy of its service, so it
/// is shorter before admission. Its own children are compared completely.
const json::Value& compared(const Child& child);

}  // namespace dynamo::render::test
