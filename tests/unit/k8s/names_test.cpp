// Names of resources and hosts; the other grammars are held against a real API server
// (tests/e2e/podrules-cases.json).

#include <catch2/catch.hpp>

#include "common/k8s/names.h"

namespace dynamo::k8s::test {
namespace {

TEST_CASE("names of resources") {
  for (const char* name : {"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/ib",
                           "gpu.intel.com/xe", "kubernetes.io/x"}) {
    INFO(name);
    CHECK(resourceNameProblem(name) == "");
  }
  CHECK(resourceNameProblem("gpu") ==
        "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as "
        "nvidia.com/gpu");
  CHECK(resourceNameProblem("") == "must not be empty");
  CHECK(resourceNameProblem("requests.nvidia.com/gpu") == "must not start with \"requests.\"");
  CHECK(resourceNameProblem("a/b/c") == "must hold at most one '/'");
}

TEST_CASE("hosts") {
  CHECK(hostProblem("") == "must not be empty");
  CHECK(hostProblem("10.0.0.1.local") == "");
  CHECK(hostProblem("10.0.0.1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("fe80::1") == "must be a DNS name, not an IP address");
  CHECK(hostProblem("*.example.com") == "");
}

}  // namespace
}  // namespace dynamo::k8s::test
