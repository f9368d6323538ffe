#pragma once
// Validation of one object of any kind: types, rules and dry render.

#include <string_view>

#include "common/admission/settings.h"
#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// A request to create or update an object, in the version of its kind in kinds.h.
struct Request {
  std::string_view kind;
  std::string_view namespaceName = {};
  std::string_view clientVersion = {};  ///< the version that the client used: "v1alpha1"
  std::string_view username = {};       ///< may be empty
  const json::Value* old = nullptr;     ///< the stored object; nullptr on CREATE
};

/// The findings about `object`, which a request wants to write. On UPDATE a defect that the old object
/// already has is a warning. An object that is being deleted is always admitted.
field::Findings judge(const json::Value& object, const Request& request, const Settings& settings);

/// Values of a type that the schema does not allow. The API server rejects them before it calls the webhook.
/// Other callers need these errors because the rules skip such values. Ratcheted when there is an old object.
field::Findings wrongTypes(const json::Value& object, const json::Value* old);

}  // namespace dynamo::admission
