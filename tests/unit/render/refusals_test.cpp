// What rendering refuses by itself: objects that admission has not seen, and bounds of its own.

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::render::test {
namespace {

TEST_CASE("refusals of rendering") {
  struct Row {
    Pathway pathway;
    const char* service;
    const char* expected;
  };
  const Row rows[] = {
      {Pathway::Grove, "null",
       "render.service spec.services[Svc]: Required value: a service must not be null"},
      {Pathway::Grove, R"({"componentType":"worker","volumeMounts":[{"mountPoint":"/a"}]})",
       "render.mount-name spec.services[Svc].volumeMounts[0].name: Required value: the name of a claim"},
      {Pathway::Grove, R"({"componentType":"worker","volumeMounts":[{"name":"c"}]})",
       "render.mount-point spec.services[Svc].volumeMounts[0].mountPoint: Required value: where to mount the "
       "claim"},
      {Pathway::Grove, R"({"componentType":"worker","resources":{"limits":{"cpu":"x"}}})",
       "render.quantity spec.services[Svc].resources.limits.cpu: Invalid value: \"x\": must be a quantity, "
       "such "
       "as 500m, 2 or 16Gi"},
      {Pathway::Grove, R"({"componentType":"epp"})",
       "render.epp-config spec.services[Svc].eppConfig: Required value: config or configMapRef"},
      {Pathway::Grove,
       R"({"componentType":"worker","checkpoint":{"enabled":true,"identity":{"model":"m","backendFramework":"vllm"}}})",
       "render.checkpoint spec.services[Svc].checkpoint: Invalid value: the operator's configuration has "
       "checkpointing off"},
      {Pathway::LeaderWorkerSet, R"({"componentType":"worker","multinode":{"nodeCount":2}})",
       "render.lws-command spec.services[Svc].extraPodSpec.mainContainer.args: Required value: a "
       "multinode "
       "component of LeaderWorkerSets needs it"},
      {Pathway::LeaderWorkerSet, R"({"componentType":"worker","replicas":1001,"multinode":{"nodeCount":2}})",
       "render.lws-replicas spec.services[Svc].replicas: Invalid value: 1001: must be at most 1000: each "
       "replica "
       "is a LeaderWorkerSet"},
      {Pathway::Grove,
       R"({"componentType":"worker","multinode":{"nodeCount":4097},"resources":{"limits":{"gpu":"1"}},)"
       R"("extraPodSpec":{"mainContainer":{"image":"i","command":["python3"],"args":["-m","dynamo.trtllm"]}}})",
       "render.trtllm-nodes spec.services[Svc].multinode.nodeCount: Invalid value: 4097: must be at most "
       "4096 for "
       "TensorRT-LLM: every host stands in one command"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.service);
    json::Document graph = graphOf(row.service);
    const Children children = rendered(Setup{row.pathway}, graph);
    REQUIRE(!children.errors.empty());
    for (const auto& error : children.errors) {
      CHECK(fmt::format("{} {}", error.rule, error.message()) == row.expected);
    }
  }
}

}  // namespace
}  // namespace dynamo::render::test
