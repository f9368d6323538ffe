#include "common/model/names.h"

#include <catch2/catch.hpp>

namespace dynamo::model::test {
namespace {

TEST_CASE("names of component deployments") {
  CHECK(componentDeploymentName("g", "VllmDecodeWorker", "worker", "abc12345") ==
        "g-vllmdecodeworker-abc12345");
  CHECK(componentDeploymentName("g", "Frontend", "frontend", "abc12345") == "g-frontend");
  CHECK(componentDeploymentName("g", "w", "worker", "") == "g-w");
  CHECK(componentDeploymentName("g", "w", "Worker", "abc12345") == "g-w");
}

}  // namespace
}  // namespace dynamo::model::test
