#pragma once
// What admission answers to a request: the patch with the defaults, the errors and the warnings.

#include <string>
#include <string_view>

#include "common/admission/settings.h"
#include "common/admission/validate.h"
#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// The answer. Any error denies the request, and the patch counts only if the request is allowed.
struct Decision {
  field::Findings findings;
  std::string patch;  ///< RFC 6902 text; empty: no change

  bool allowed() const { return findings.errors.empty(); }
};

/// Sets the defaults of `object`, which a request wants to write, in place. Graphs and standalone component
/// deployments get them on CREATE and UPDATE; a DynamoGraphDeploymentRequest only on CREATE (quirk dec-5),
/// and UPDATE removes its null image. Other kinds have none.
Decision mutate(json::Value& object, const Request& request, const Settings& settings,
                json::Allocator& allocator);

/// Checks `object`, which a request wants to write, against every rule of its kind, including a dry render of
/// the controller's children. With `validation.mode: warn` only locks are errors.
Decision validate(const json::Value& object, const Request& request, const Settings& settings);

/// Sets the defaults of a new DynamoGraphDeploymentRequest, given in v1beta1 and written by the client in
/// `clientVersion`. Returns whether `object` changed. An object with values of wrong types gets no defaults,
/// because a default could replace a wrong value before the schema of its version rejects it.
bool applyDgdrDefaults(json::Value& object, std::string_view clientVersion, std::string_view operatorVersion,
                       json::Allocator& allocator);

}  // namespace dynamo::admission
