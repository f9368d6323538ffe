#pragma once
// Defaults of DynamoGraphDeploymentRequest that a schema cannot express (quirk adm-Q14).

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::defaults {

/// Sets spec.image of a v1beta1 object if it is absent or empty. Returns whether it was set. For CREATE only
/// (quirk dec-5). An object without a spec is not changed; validation reports that spec.model is required.
bool defaultDgdr(json::Value& object, std::string_view operatorVersion, json::Allocator& allocator);

/// For UPDATE: replaces a null spec.image by the stored value, or removes it if there is none. Server-side
/// apply sends `image: null` with each request, and the schema rejects nulls. Returns whether `object` was
/// changed.
bool replaceNullImage(json::Value& object, const json::Value& old, json::Allocator& allocator);

}  // namespace dynamo::defaults
