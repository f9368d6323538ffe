#pragma once
// The lock rules of graphs, without the other rules.

#include "common/rules/validators.h"

namespace dynamo::rules {

/// Runs only the lock rules of validateDgd(). Their cost depends only on the number of services. The findings
/// are sorted.
Findings validateDgdLocks(const Write& write);

}  // namespace dynamo::rules
