#pragma once
// What an update of a graph may not change, judged alone.

#include "common/rules/validators.h"

namespace dynamo::rules {

/// The locks among the rules of validateDgd(): what they look at grows with the services alone. Sorted.
Findings validateDgdLocks(const Request& request);

}  // namespace dynamo::rules
