#pragma once
// Finds the field manager that owns a field.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// The manager other than `except` that owns the field at `path` (Drift::path) in metadata.managedFields, or
/// the value that contains it. Of several, the one that wrote last. Empty: none.
std::string_view fieldOwner(const json::Value& object, std::string_view path, std::string_view except);

}  // namespace dynamo::k8s
