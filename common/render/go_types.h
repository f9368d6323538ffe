#pragma once
// Serializes the pod types of Kubernetes and the service type as Go does: the order of members, and which
// zero values are written. The worker hash is computed from this text, and rendered pods omit what a Go
// client would omit.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// Compact JSON of `value` as Go writes the type `type` ("PodSpec", "Service", …). Unknown members are
/// omitted; quantities are canonical.
std::string goTypedJson(const json::Value& value, std::string_view type);

/// Removes nulls and the zero values that a Go client would omit, and makes quantities canonical. Unknown
/// members are kept.
void normalize(json::Value& value, std::string_view type, json::Allocator& allocator);

}  // namespace dynamo::render
