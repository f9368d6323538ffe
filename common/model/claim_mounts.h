#pragma once
// volumeMounts of a component: where it mounts claims.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// Whether two mounts are the same. `useAsCompilationCache: false` means the same as its absence: earlier
/// schemas had this default, so that objects which they defaulted contain it.
bool sameClaimMount(const json::Value& a, const json::Value& b);

/// Whether the field of a component belongs to its pods. The worker hash covers the same fields.
bool isPodField(std::string_view name);

/// Whether two fields of a component are the same. Compares "volumeMounts" with sameClaimMount(). Values may
/// be nullptr.
bool sameComponentField(std::string_view name, const json::Value* a, const json::Value* b);

/// Whether the specs of two components have the same fields of isPodField(). Absent, null and empty values
/// are equal.
bool samePodFields(const json::Value& a, const json::Value& b);

}  // namespace dynamo::model
