// Where checkpoints are stored: what their Jobs and the workers that restore them are told (decision
// pod-Q35).
#include <catch2/catch.hpp>

#include "common/json/build.h"
#include "common/render/facts.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

constexpr const char* kHash = "96429b2725761a09";

std::string variable(const json::Value& container, const char* name) {
  return std::string{json::findText(json::findNamed(json::find(container, "env"), name), "value")};
}

bool mounts(const json::Value& container) {
  return json::findNamed(json::find(container, "volumeMounts"), "checkpoint-storage") != nullptr;
}

TEST_CASE("jobs and workers get the location of a checkpoint by the type of the storage") {
  struct Row {
    const char* type;
    const char* job;     // DYN_CHECKPOINT_LOCATION
    const char* worker;  // DYN_CHECKPOINT_LOCATION
    const char* path;    // DYN_CHECKPOINT_PATH of the worker
    bool mounted;
  };
  const Row rows[] = {
      {"pvc", "/checkpoints/96429b2725761a09", "", "/checkpoints", true},
      {"s3", "s3://bucket/prefix/96429b2725761a09.tar", "s3://bucket/prefix/96429b2725761a09.tar", "", false},
      {"oci", "oci://registry/checkpoints:96429b2725761a09", "oci://registry/checkpoints:96429b2725761a09",
       "", false},
  };
  for (const Row& row : rows) {
    INFO(row.type);
    Setup setup{Pathway::Grove};
    config::CheckpointConfig& storage = setup.config.checkpoint;
    storage.enabled = true;
    storage.storageType = row.type;
    storage.pvcName = "claim";
    storage.pvcBasePath = "/checkpoints";
    storage.s3.uri = "s3://bucket/prefix";
    storage.oci.uri = "oci://registry/checkpoints";
    const json::Document checkpoint =
        parsed(R"({"kind":"DynamoCheckpoint","metadata":{"name":"c","namespace":"ns",)"
               R"("uid":"0b5d4f1e-0000-4000-8000-000000000001",)"
               R"("labels":{"nvidia.com/snapshot-checkpoint-hash":"96429b2725761a09"}},)"
               R"("spec":{"identity":{"model":"meta-llama/Llama-2-7b-hf","backendFramework":"vllm"},)"
               R"("job":{"podTemplateSpec":{"spec":{"containers":[{"name":"main","image":"i"}]}}}},)"
               R"("status":{"phase":"Ready","identityHash":"96429b2725761a09"}})");
    const Children made = childrenOf(checkpoint, setup.context());
    REQUIRE(made.items.size() == 1);
    const json::Value* spec = json::find(json::find(made.items[0].object, "spec"), "template");
    const json::Value& jobPod = *json::find(spec, "spec");
    CHECK(variable(mainContainerOf(jobPod), "DYN_CHECKPOINT_LOCATION") == row.job);
    CHECK(variable(mainContainerOf(jobPod), "DYN_CHECKPOINT_STORAGE_TYPE") == row.type);
    CHECK(mounts(mainContainerOf(jobPod)) == row.mounted);
    CHECK(json::find(json::find(jobPod, "securityContext"), "fsGroup")->GetInt() == 1000);

    setup.facts.setCheckpoint(checkpointFact(checkpoint));
    json::Document graph =
        graphOf(R"({"componentType":"worker","checkpoint":{"enabled":true,"checkpointRef":"c"},)"
                R"("extraPodSpec":{"mainContainer":{"image":"i","command":["python3"]}}})");
    const Children children = rendered(setup, graph);
    const json::Value* worker = podSpecOf(children, "main");
    REQUIRE(worker != nullptr);
    const json::Value& main = mainContainerOf(*worker);
    CHECK(commandOf(main) == "sleep|infinity");
    CHECK(variable(main, "DYN_CHECKPOINT_HASH") == kHash);
    CHECK(variable(main, "DYN_CHECKPOINT_LOCATION") == row.worker);
    CHECK(variable(main, "DYN_CHECKPOINT_PATH") == row.path);
    CHECK(mounts(main) == row.mounted);
  }
}

}  // namespace
}  // namespace dynamo::render::test
