#pragma once
// The processors and descriptors available to this process.

#include <cstddef>
#include <string_view>

namespace dynamo::runtime {

/// Returns the number of processors by the affinity mask and the cgroup's quota; at least 1. With more
/// threads than processors, requests would wait for the time slices of other threads.
unsigned usableProcessors();

/// Raises the limit of open descriptors to the hard limit, because each connection needs one. Returns the new
/// limit.
std::size_t raiseDescriptorLimit();

/// Parses the quota in a cgroup's cpu.max, for example "150000 100000" for 1.5 processors. Returns the quota
/// rounded up, or 0 if there is no quota.
unsigned quotaOf(std::string_view cpuMax);

}  // namespace dynamo::runtime
