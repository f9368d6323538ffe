#pragma once
// Fields by their paths in the notation of drift.h: who owns a field, and an object without it.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// The manager other than `except` that owns the field at `path` (Drift::path) in metadata.managedFields, or
/// the value that contains it. Of several, the one that wrote last. Empty: none.
std::string_view fieldOwner(const json::Value& object, std::string_view path, std::string_view except);

/// Removes the field at `path`. Returns false if there is none.
bool removeField(json::Value& object, std::string_view path);

}  // namespace dynamo::k8s
