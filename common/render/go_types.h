#pragma once
// Kubernetes' pod types and the service type as Go serialises them: order of members, and which are written
// when zero. Two uses: the worker hash is over that text, and rendered pods leave out what a typed client
// would leave out.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// Compact JSON of `value` as Go writes the type `type` ("PodSpec", "Service", …). Members that the type does
/// not know are left out, quantities are canonical.
std::string goTypedJson(const json::Value& value, std::string_view type);

/// Removes nulls and the zeros that a Go client would not write, and makes quantities canonical. Unknown
/// members stay as they are.
void normalize(json::Value& value, std::string_view type, json::Allocator& allocator);

}  // namespace dynamo::render
