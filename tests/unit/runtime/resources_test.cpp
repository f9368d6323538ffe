// Limits of the machine: CPU affinity and quota, descriptors.

#include "common/runtime/resources.h"

#include <sched.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <string_view>

namespace dynamo::runtime::test {

TEST_CASE("a quota counts in whole processors, rounded up") {
  struct Row {
    std::string_view text;
    unsigned processors;
  };
  for (const Row& row : {Row{"max 100000", 0},
                         {"150000 100000", 2},
                         {"100000 100000", 1},
                         {"5000 100000", 1},
                         {"800000 100000", 8},
                         {"", 0},
                         {"100000", 0},
                         {"100000 0", 0},
                         {"100000 x", 0}}) {
    CAPTURE(row.text);
    CHECK(quotaOf(row.text) == row.processors);
  }
}

TEST_CASE("processors that the affinity mask excludes are not counted") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(usableProcessors() <= static_cast<unsigned>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usableProcessors() == 1);
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

TEST_CASE("the limit of descriptors is raised to the hard limit") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit low{64, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(raiseDescriptorLimit() == before.rlim_max);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace dynamo::runtime::test
