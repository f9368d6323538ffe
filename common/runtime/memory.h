#pragma once
// What the process does with memory that large requests leave behind.

namespace dynamo::runtime {

/// Call once at the start of `main`. Sets the allocator so that a large body is mapped and goes back to the
/// system when it is freed, for good: by default glibc raises that threshold after the first such body, and
/// `malloc_trim` does not shrink the heaps of threads. For the whole process, hence not done by the server.
void keepHeapSmall();

}  // namespace dynamo::runtime
