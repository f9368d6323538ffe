#pragma once
// Ratcheting: an UPDATE only warns about existing defects.

#include "common/field/finding.h"

namespace dynamo::field {

/// Rule 1 of decisions.md: an UPDATE is not rejected because of fields that it did not change. An error of
/// `now` becomes a warning if `before` has an error with the same rule, type, bad value and field path, and
/// the value of the field is unchanged. The detail is ignored because it may refer to other fields, unless
/// the field is an object and nothing else identifies the defect. Items of lists are matched by name.
Findings ratchet(Findings now, const Findings& before, const json::Value& object, const json::Value& old);

}  // namespace dynamo::field
