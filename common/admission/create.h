#pragma once
// What an API server with this operator's webhook makes of a manifest that is created, without a cluster.

#include <string_view>

#include "common/admission/settings.h"
#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::admission {

struct Created {
  /// Sorted: of the schema, and of admission. Errors are not changed by `validation.mode: warn`.
  field::Findings findings;
  /// With all defaults, in the version that admission reads, with namespace and name and without a status.
  /// Its name ends with "xxxxx" if the manifest has only generateName.
  json::Value admitted;
  /// The same in the version of the manifest. A request that cannot be converted is as it was written.
  json::Value stored;
};

/// `object`: a manifest of the kind and version that `node` describes; the result refers to its strings.
/// `namespaceName`: of an object without one.
Created create(const schema::Node& node, const json::Value& object, std::string_view namespaceName,
               const Settings& settings, json::Allocator& allocator);

}  // namespace dynamo::admission
