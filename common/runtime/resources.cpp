#include "common/runtime/resources.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <thread>

namespace dynamo::runtime {
namespace {

// In a container this is the container's own cgroup.
constexpr const char* kQuotaFile = "/sys/fs/cgroup/cpu.max";

unsigned affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // The call fails on machines with more processors than the set can hold.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::thread::hardware_concurrency();
  return static_cast<unsigned>(CPU_COUNT(&set));
}

}  // namespace

unsigned quotaOf(std::string_view cpuMax) {
  unsigned long quota = 0;
  unsigned long period = 0;
  const char* end = cpuMax.data() + cpuMax.size();
  const auto first = std::from_chars(cpuMax.data(), end, quota);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ' ') return 0;  // "max 100000"
  const auto second = std::from_chars(first.ptr + 1, end, period);
  if (second.ec != std::errc{} || period == 0) return 0;
  return static_cast<unsigned>((quota + period - 1) / period);
}

unsigned usableProcessors() {
  unsigned count = affinity();
  std::string line;
  if (std::ifstream file{kQuotaFile}; std::getline(file, line)) {
    if (const unsigned quota = quotaOf(line); quota > 0) count = std::min(count, quota);
  }
  return std::max(count, 1U);
}

std::size_t raiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur;
}

}  // namespace dynamo::runtime
