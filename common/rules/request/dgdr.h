#pragma once
// The rules of DynamoGraphDeploymentRequest beyond its schema.

#include <span>
#include <string_view>

#include "common/json/value.h"
#include "common/rules/field_names.h"

namespace dynamo::rules {

/// What the rules need to know of the operator's configuration.
struct DgdrPolicy {
  /// GPU hardware must be given by hand: the operator is namespace-restricted and discovery is off.
  bool hardwareRequired = false;
  /// deploymentOverrides.namespace may name another namespace than the request's.
  bool allowOtherNamespaces = false;
};

/// One request in v1beta1, as the API server sends it whatever version the client used.
struct DgdrRequest {
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view clientVersion;    ///< version the client wrote, "v1alpha1" or "v1beta1"
  const DgdrPolicy& policy;

  /// The old object written once more: what it breaks was broken before.
  DgdrRequest again() const { return {*old, old, clientVersion, policy}; }
};

/// All findings, sorted. An object that is being deleted is never refused.
Findings validateDgdr(const DgdrRequest& request);

/// The rules, for `dynamo-webhook rules` and the documentation.
std::span<const Rule> dgdrRules();

/// Only for updates. What a client of v1alpha1 sees of the spec is more than v1beta1 has.
bool specChanged(const DgdrRequest& request);

/// Equal for the lock on the spec: what the typed API treats alike is alike.
bool sameDgdrSpec(const json::Value* before, const json::Value* after);

/// The same of what clients of v1alpha1 see of two v1beta1 objects with the same spec: some of their fields
/// stand in annotations.
bool sameAlphaSpec(const json::Value& before, const json::Value& after);

}  // namespace dynamo::rules
