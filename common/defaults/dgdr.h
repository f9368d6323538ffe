#pragma once
// Defaults of DynamoGraphDeploymentRequest that no schema can hold (quirk adm-Q14).

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::defaults {

/// Sets spec.image on a v1beta1 object when absent or empty; true when it did. To be called on CREATE only
/// (quirk dec-5). An object without a spec is left to the validation, which asks for spec.model.
bool defaultDgdr(json::Value& object, std::string_view operatorVersion, json::Allocator& allocator);

/// For UPDATE: server-side apply sends `image: null` again each time, and the schema refuses a null. Null
/// counts as absent: what `old` holds stays, and with nothing there the null goes. True when it changed
/// `object`.
bool replaceNullImage(json::Value& object, const json::Value& old, json::Allocator& allocator);

}  // namespace dynamo::defaults
