// Names of resources and hosts. The other grammars are compared with a real API server
// (tests/e2e/pod-rules-cases.json).

#include <catch2/catch.hpp>
#include <string>

#include "common/k8s/names.h"

namespace dynamo::k8s::test {
namespace {

TEST_CASE("names of resources") {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/ib",
                           "gpu.intel.com/xe", "kubernetes.io/x", "requests.kubernetes.io/x"}) {
    INFO(name);
    CHECK(resourceNameProblem(name) == "");
  }
  CHECK(resourceNameProblem("gpu") ==
        "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as "
        "nvidia.com/gpu");
  CHECK(resourceNameProblem("") == "must not be empty");
  CHECK(resourceNameProblem("requests.nvidia.com/gpu") == "must not start with \"requests.\"");
  // The name of its quota, which begins with "requests.", must be valid too.
  CHECK(resourceNameProblem(std::string(245, 'a') + "/b") != "");
  CHECK(resourceNameProblem("a/b/c") == "must contain at most one '/'");
}

TEST_CASE("hosts") {
  CHECK(hostProblem("") == "must not be empty");
  CHECK(hostProblem("10.0.0.1.local") == "");
  CHECK(hostProblem("10.0.0.1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("fe80::1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("*.example.com") == "");
}

TEST_CASE("addresses") {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"1.2.3.4"sv, "010.0.0.01"sv, "::1"sv, "fe80::1:2"sv}) {
    INFO(text);
    CHECK(isIpAddress(text));
  }
  for (const std::string_view text : {""sv, "1.2.3"sv, "1.2.3.4.5"sv, "1.2.3.256"sv, "::1\0x"sv, "a"sv}) {
    INFO(text);
    CHECK_FALSE(isIpAddress(text));
  }
}

}  // namespace
}  // namespace dynamo::k8s::test
