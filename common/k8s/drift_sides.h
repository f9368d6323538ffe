#pragma once
// What a drift looks like: both objects, reduced to the fields that matter for it.

#include "common/json/value.h"

namespace dynamo::k8s {

/// An applied object and its live object. Values that findDrift() counts as equal are equal.
struct DriftSides {
  json::Value live;
  json::Value applied;
};

/// Reduces `live` to the fields that `applied` has or that `owned` names, and items of lists accordingly.
/// Fields that the API server sets, and fields and items of other managers, are left out; so are apiVersion,
/// kind, name and namespace. `owned`: see findDrift(); with nullptr, items of lists are matched by `name`.
/// The results live in `allocator`.
DriftSides driftSides(const json::Value& applied, const json::Value& live, const json::Value* owned,
                      json::Allocator& allocator);

}  // namespace dynamo::k8s
