#pragma once
// What an update of a graph may not change, judged alone.

#include "common/validation/validators.h"

namespace dynamo::validation {

/// The locks among the rules of validateDgd(): what they look at grows with the services alone. Sorted.
Findings validateDgdLocks(const Request& request);

}  // namespace dynamo::validation
