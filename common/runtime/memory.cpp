#include "common/runtime/memory.h"

#include <malloc.h>

namespace dynamo::runtime {
namespace {

// Rare: lists to convert, patches of graphs of dozens of services. So the page faults of fresh mappings do
// not count.
constexpr int kMapAbove = 128 << 10;
// Free bytes at the end of a heap that are kept: enough for a burst of reviews.
constexpr int kKeepFree = 4 << 20;

}  // namespace

void keepHeapSmall() {
  mallopt(M_MMAP_THRESHOLD, kMapAbove);
  mallopt(M_TRIM_THRESHOLD, kKeepFree);
}

}  // namespace dynamo::runtime
