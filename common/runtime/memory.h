#pragma once
// Allocator settings of the process.

namespace dynamo::runtime {

/// Configures malloc so that large blocks are always mapped and returned to the system when freed. By default
/// glibc raises the threshold for mappings after the first large body, and `malloc_trim` does not shrink the
/// heaps of threads. The setting affects the whole process, so `main` calls this function once at its start.
void configureAllocator();

}  // namespace dynamo::runtime
