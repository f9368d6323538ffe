#pragma once
// Accessors for members that objects of every kind have.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// The annotation of kubectl with the manifest of the last client-side apply.
inline constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

inline const json::Value* specOf(const json::Value& object) {
  return json::findObject(&object, "spec");
}

/// spec.replicas; nullopt: absent, or no integer.
inline std::optional<std::int64_t> replicasOf(const json::Value& object) {
  const json::Value* replicas = json::find(specOf(object), "replicas");
  if (replicas == nullptr || !replicas->IsInt64()) return std::nullopt;
  return replicas->GetInt64();
}

inline const json::Value* annotationsOf(const json::Value& object) {
  return json::findObject(json::find(object, "metadata"), "annotations");
}

/// metadata.ownerReferences; empty if there are none.
inline std::span<const json::Value> ownersOf(const json::Value& object) {
  const json::Value* owners = json::find(json::findObject(&object, "metadata"), "ownerReferences");
  if (owners == nullptr || !owners->IsArray()) return {};
  return {owners->Begin(), owners->Size()};
}

/// The owner reference to the controller of the object; nullptr if there is none. The API server allows one.
inline const json::Value* controllerOf(const json::Value& object) {
  for (const json::Value& reference : ownersOf(object)) {
    if (json::findBool(&reference, "controller").value_or(false)) return &reference;
  }
  return nullptr;
}

/// Whether the object is being deleted. Its updates only remove finalizers.
inline bool isBeingDeleted(const json::Value& object) {
  return json::find(json::find(object, "metadata"), "deletionTimestamp") != nullptr;
}

/// Sets the namespace of an object that has none.
inline void ensureNamespace(json::Value& object, std::string_view name, json::Allocator& allocator) {
  json::Value& metadata = json::ensureObject(object, "metadata", allocator);
  if (!json::findText(&metadata, "namespace").empty()) return;
  json::set(metadata, "namespace", json::string(name, allocator), allocator);
}

}  // namespace dynamo::k8s
