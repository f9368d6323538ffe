#pragma once
// The rules of DynamoGraphDeploymentRequest beyond its schema.

#include <span>
#include <string_view>

#include "common/json/value.h"
#include "common/rules/field_names.h"
#include "common/rules/validators.h"

namespace dynamo::rules {

/// Settings of the operator and facts about the cluster that the rules depend on.
struct DgdrPolicy {
  /// spec.hardware is required because the operator is namespace-restricted and GPU discovery is off.
  bool hardwareRequired = false;
  /// deploymentOverrides.namespace may name another namespace than the request's.
  bool allowOtherNamespaces = false;
  /// What the generated graph meets.
  GraphPolicy graph = {};
};

/// A request in v1beta1. The API server sends this version whichever version the client used.
struct DgdrWrite {
  const json::Value& object;
  const json::Value* old = nullptr;  ///< nullptr on CREATE
  std::string_view clientVersion;    ///< version the client wrote, "v1alpha1" or "v1beta1"
  const DgdrPolicy& policy;

  /// The old object as an update of itself. Its defects existed before the update.
  DgdrWrite again() const { return {*old, old, clientVersion, policy}; }
};

/// All findings, sorted. An object that is being deleted is never rejected.
Findings validateDgdr(const DgdrWrite& write);

/// The rules, for `dynamo-webhook rules` and the documentation.
std::span<const Rule> dgdrRules();

/// Whether an update changes the spec. The spec of v1alpha1 has fields that v1beta1 keeps in annotations.
bool specChanged(const DgdrWrite& write);

/// Whether the specs are equal for the lock on the spec. Values that the typed API reads as equal are equal.
bool sameDgdrSpec(const json::Value* before, const json::Value* after);

/// The same for the v1alpha1 specs of two v1beta1 objects whose v1beta1 specs are equal.
bool sameAlphaSpec(const json::Value& before, const json::Value& after);

}  // namespace dynamo::rules
