#pragma once
// An UPDATE only warns of old defects.

#include "common/field/finding.h"

namespace dynamo::field {

/// Rule 1 of decisions.md: what an UPDATE did not touch is no reason to refuse it. Errors of `now` that the
/// old object has too become warnings: same rule, type, bad value and place, and the same value there. The
/// words do not count, as they speak of other fields, too, but where the place is an object of which nothing
/// else says what is wrong. Items of lists are known by their names.
Findings ratchet(Findings now, const Findings& before, const json::Value& object, const json::Value& old);

}  // namespace dynamo::field
