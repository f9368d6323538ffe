#pragma once
// The mutating half of admission for DynamoGraphDeployment and DynamoComponentDeployment: defaults are
// written into the object, the user always wins, and defaults do not go stale (the laws in
// common/decisions.md).

#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/model/component_defaults.h"

namespace dynamo::defaults {

struct DefaultContext {
  const model::ComponentDefaults& components;
  const config::OperatorConfig& config;
  std::string_view operatorVersion;  ///< stamped on graphs verbatim; "" and "unknown" are not
  std::string_view namespaceName;    ///< of the request; for objects without metadata.namespace
};

struct DefaultResult {
  std::vector<field::Warning> warnings;
};

/// Makes of `object`, as a request brings it, what is to be stored: schema defaults in place of nulls,
/// `replicas`, defaults of components, operator-owned annotations, the record of what was written. `old`: the
/// stored object on UPDATE, nullptr on CREATE. A component deployment that a graph made stays as it is.
/// Deterministic; objects of other kinds and of wrong structure come back unchanged.
DefaultResult applyDefaults(json::Value& object, const json::Value* old, const DefaultContext& context,
                            json::Allocator& allocator);

/// What the user wrote: `object` without what its record, managedFields and last-applied-configuration say is
/// the webhook's, and without the record. Of an object that was never defaulted: a copy.
json::Value intent(const json::Value& object, json::Allocator& allocator);

/// The same in place.
void reduceToIntent(json::Value& object);

}  // namespace dynamo::defaults
