#pragma once
// Accessors of fields that objects of every kind have.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/json/value.h"
#include "common/k8s/object.h"

namespace dynamo::lifecycle {

using k8s::annotationsOf;
using k8s::controllerOf;
using k8s::isBeingDeleted;
using k8s::ownersOf;
using k8s::specOf;

inline const json::Value* metadataOf(const json::Value& object) {
  return json::find(object, "metadata");
}
inline std::string_view nameOf(const json::Value& object) {
  return json::findText(metadataOf(object), "name");
}
inline std::string_view namespaceOf(const json::Value& object) {
  return json::findText(metadataOf(object), "namespace");
}
inline std::string_view uidOf(const json::Value& object) {
  return json::findText(metadataOf(object), "uid");
}
inline const json::Value* labelsOf(const json::Value& object) {
  return json::findObject(metadataOf(object), "labels");
}
inline std::string_view labelOf(const json::Value& object, std::string_view key) {
  return json::findText(labelsOf(object), key);
}
inline const json::Value* statusOf(const json::Value& object) {
  return json::findObject(&object, "status");
}

/// The integer at `key`; `fallback` if there is none.
inline std::int64_t numberAt(const json::Value* object, std::string_view key, std::int64_t fallback) {
  const json::Value* value = json::find(object, key);
  return value != nullptr && value->IsInt64() ? value->GetInt64() : fallback;
}

/// A number of replicas, limited to the non-negative 32-bit integers of the API.
inline std::int64_t countAt(const json::Value* object, std::string_view key, std::int64_t fallback = 0) {
  return std::clamp<std::int64_t>(numberAt(object, key, fallback), 0, INT32_MAX);
}

inline std::int64_t generationOf(const json::Value& object) {
  return numberAt(metadataOf(object), "generation", 0);
}

/// Whether the status describes the current spec. A status without observedGeneration does not.
inline bool isObserved(const json::Value& object) {
  return numberAt(statusOf(object), "observedGeneration", -1) >= generationOf(object);
}

/// Whether an owner reference of `object` is to `owner`. Anybody may write any uid into a reference, so an
/// object of another namespace never belongs to `owner`.
inline bool isOwner(const json::Value& owner, const json::Value& reference, const json::Value& object) {
  return !uidOf(owner).empty() && json::findText(&reference, "uid") == uidOf(owner) &&
         namespaceOf(object) == namespaceOf(owner);
}

/// Whether `owner` is the controller of `object`.
inline bool isControlledBy(const json::Value& object, const json::Value& owner) {
  const json::Value* controller = controllerOf(object);
  return controller != nullptr && isOwner(owner, *controller, object);
}

/// The first of `objects` of the kind that `owner` controls; nullptr: none.
inline const json::Value* findControlled(std::span<const json::Value* const> objects, std::string_view kind,
                                         const json::Value& owner) {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const json::Value* object) {
    return json::findText(object, "kind") == kind && isControlledBy(*object, owner);
  });
  return found == objects.end() ? nullptr : *found;
}

}  // namespace dynamo::lifecycle
