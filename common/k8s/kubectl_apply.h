#pragma once
// What `kubectl apply` without --server-side sends.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// The field manager of such requests.
inline constexpr std::string_view kClientSideApply = "kubectl-client-side-apply";

/// The manifest with the annotation in which kubectl stores it: the body of a create.
json::Value withLastApplied(const json::Value& manifest, json::Allocator& allocator);

/// The merge patch (RFC 7396) for an object that exists. It sets what the manifest has, and removes what the
/// last applied manifest had and this one has not. An object without the annotation keeps all other fields.
json::Value applyPatch(const json::Value& manifest, const json::Value& live, json::Allocator& allocator);

}  // namespace dynamo::k8s
