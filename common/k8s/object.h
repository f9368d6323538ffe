#pragma once
// The parts that objects of every kind have.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

inline const json::Value* specOf(const json::Value& object) {
  return json::findObject(&object, "spec");
}

inline const json::Value* annotationsOf(const json::Value& object) {
  return json::findObject(json::find(object, "metadata"), "annotations");
}

/// Deleted already, but for its finalizers: an update only serves that.
inline bool isBeingDeleted(const json::Value& object) {
  return json::find(json::find(object, "metadata"), "deletionTimestamp") != nullptr;
}

/// Gives an object without a namespace one.
inline void ensureNamespace(json::Value& object, std::string_view name, json::Allocator& allocator) {
  json::Value& metadata = json::ensureObject(object, "metadata", allocator);
  if (!json::findText(&metadata, "namespace").empty()) return;
  json::set(metadata, "namespace", json::string(name, allocator), allocator);
}

}  // namespace dynamo::k8s
