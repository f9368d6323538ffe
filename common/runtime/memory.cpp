#include "common/runtime/memory.h"

#include <malloc.h>

namespace dynamo::runtime {
namespace {

// Only lists of objects and patches of graphs with dozens of services are larger. They are rare, so the page
// faults of new mappings do not matter.
constexpr int kMapAbove = 128 << 10;
// Free bytes to keep at the end of a heap: enough for a burst of reviews.
constexpr int kKeepFree = 4 << 20;

}  // namespace

void configureAllocator() {
  mallopt(M_MMAP_THRESHOLD, kMapAbove);
  mallopt(M_TRIM_THRESHOLD, kKeepFree);
}

}  // namespace dynamo::runtime
