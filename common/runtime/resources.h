#pragma once
// What of the machine this process may use.

#include <cstddef>
#include <string_view>

namespace dynamo::runtime {

/// The processors of the affinity mask, or fewer when a cgroup's quota is less; at least 1. More threads than
/// that only take turns: requests then wait for whole time slices of others.
unsigned usableProcessors();

/// Raises the limit of open descriptors as far as it may be raised: each connection is one. Returns the
/// limit.
std::size_t raiseDescriptorLimit();

/// The quota in the text of a cgroup's cpu.max ("150000 100000": 1.5 processors), rounded up; 0: no quota.
unsigned quotaOf(std::string_view cpuMax);

}  // namespace dynamo::runtime
