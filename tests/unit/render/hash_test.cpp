// Hashes equal those of the reference.
#include <catch2/catch.hpp>
#include <set>

#include "common/model/names.h"
#include "common/render/hash.h"
#include "support.h"

namespace dynamo::render::test {
namespace {

std::string hashOfServices(const std::string& services) {
  const json::Document graph = parsed(R"({"spec":{"services":)" + services + "}}");
  return workerHash(graph);
}

TEST_CASE("worker hash: values of the reference") {
  struct Row {
    const char* services;
    const char* hash;
  };
  const Row rows[] = {
      {R"({"F":{"componentType":"frontend"}})", "44136fa3"},
      {R"({"worker":{"componentType":"worker"}})", "769fa7c7"},
      {R"({"prefill":{"componentType":"prefill"},"decode":{"componentType":"decode"}})", "e1f2a6fe"},
      {R"({"worker":{"componentType":"worker","envs":[{"name":"FOO","value":"bar"}]}})", "91a18e39"},
      {R"({"worker":{"componentType":"worker","resources":{"requests":{"cpu":"2"}}}})", "ef212b33"},
      {R"({"worker":{"componentType":"worker","sharedMemory":{"size":"1Gi"}}})", "fd59656e"},
      {R"({"worker":{"componentType":"worker","sharedMemory":{"disabled":true}}})", "e9d0a9f8"},
      {R"({"worker":{"componentType":"worker","globalDynamoNamespace":true}})", "11dac029"},
      {R"({"worker":{"componentType":"worker","multinode":{"nodeCount":2}}})", "8aabbaca"},
      {R"({"worker":{"componentType":"worker","extraPodSpec":{"mainContainer":{"image":"img:1"}}}})",
       "39a785af"},
      {R"({"VllmDecodeWorker":{"componentType":"worker","envFromSecret":"hf-token-secret","replicas":1,
           "resources":{"limits":{"gpu":"1"},"requests":{"custom":{"ephemeral-storage":"2Gi"}}},
           "extraPodSpec":{"mainContainer":{"args":["--model","Qwen/Qwen3-0.6B"],
           "command":["python3","-m","dynamo.vllm"],"workingDir":"/workspace/examples/backends/vllm",
           "image":"nvcr.io/nvidia/ai-dynamo/vllm-runtime:my-tag"}}}})",
       "6089130c"},
      {R"({"W":{"componentType":"worker","extraPodSpec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":
           {"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},
           "dataSource":{"kind":"PersistentVolumeClaim","name":"src"}}}}}],"mainContainer":{"image":"i"}}}})",
       "4c635625"},
  };
  for (const Row& row : rows) {
    INFO(row.services);
    CHECK(hashOfServices(row.services) == row.hash);
  }
}

TEST_CASE("worker hash: fields that count and fields that do not") {
  const auto with = [](const char* member) {
    return hashOfServices(std::string{R"({"w":{"componentType":"worker")"} + member + "}}");
  };
  const std::string plain = with("");
  const char* same[] = {R"(,"replicas":3)",
                        R"(,"labels":{"a":"b"})",
                        R"(,"annotations":{"a":"b"})",
                        R"(,"serviceName":"x")",
                        R"(,"subComponentType":"x")",
                        R"(,"dynamoNamespace":"x")",
                        R"(,"ingress":{"enabled":true})",
                        R"(,"modelRef":{"name":"m"})",
                        R"(,"scalingAdapter":{"enabled":true})",
                        R"(,"autoscaling":{"enabled":true})",
                        R"(,"eppConfig":{})",
                        R"(,"envs":[])",
                        R"(,"resources":null)"};
  for (const char* member : same) {
    INFO(member);
    CHECK(with(member) == plain);
  }
  const char* other[] = {R"(,"envs":[{"name":"A"},{"name":"B"}])",
                         R"(,"envs":[{"name":"B"},{"name":"A"}])",
                         R"(,"resources":{})",
                         R"(,"extraPodMetadata":{"labels":{"a":"b"}})",
                         R"(,"livenessProbe":{})",
                         R"(,"frontendSidecar":{"image":"i"})",
                         R"(,"checkpoint":{"enabled":true})",
                         R"(,"envFromSecret":"")",
                         R"(,"sharedMemory":{"disabled":true})"};
  std::set<std::string> seen{plain};
  for (const char* member : other) {
    INFO(member);
    CHECK(seen.insert(with(member)).second);
  }
}

TEST_CASE("worker hash: JSON as Go writes it") {
  const json::Document graph = parsed(
      R"({"spec":{"services":{"w":{"componentType":"decode","extraPodSpec":{"mainContainer":{"name":"main"},
      "nodeSelector":{"gpu":"true"},"containers":[],"hostNetwork":false,"securityContext":{}},
      "envs":[{"value":"<&>\u2028","name":"A"}],"sharedMemory":{"size":"1024Mi"}}}}})");
  CHECK(workerHashInput(graph) ==
        R"({"w":{"envs":[{"name":"A","value":"\u003c\u0026\u003e\u2028"}],"sharedMemory":{"size":"1Gi"},)"
        R"("extraPodSpec":{"nodeSelector":{"gpu":"true"},"securityContext":{},)"
        R"("mainContainer":{"name":"main","resources":{}}}}})");
  const json::Document source = parsed(
      R"({"spec":{"services":{"w":{"componentType":"worker","extraPodSpec":{"volumes":[{"name":"v","ephemeral":{
      "volumeClaimTemplate":{"spec":{"dataSourceRef":{"kind":"K","name":"n","namespace":"ns"}}}}}]}}}}})");
  CHECK(workerHashInput(source).find(
            R"("dataSourceRef":{"apiGroup":null,"kind":"K","name":"n","namespace":"ns"})") !=
        std::string::npos);
}

TEST_CASE("model and identity hashes") {
  CHECK(modelHash("Qwen/Qwen3-0.6B") == "fb68f5a6");
  CHECK(modelHash("llama-3-70b-instruct-v1") == "c21c2fb2");
  CHECK(modelHash("meta-llama/Llama-3.3-70B-Instruct") == "99668f5d");
  struct Row {
    const char* identity;
    const char* hash;
  };
  const Row rows[] = {
      {R"({"model":"meta-llama/Llama-2-7b-hf","backendFramework":"vllm"})", "96429b2725761a09"},
      {R"({"model":"meta-llama/Llama-2-7b-hf","backendFramework":"vllm","tensorParallelSize":0,"extraParameters":{}})",
       "96429b2725761a09"},
      {R"({"model":"meta-llama/Llama-3-70B","backendFramework":"vllm","dynamoVersion":"1.0.0","tensorParallelSize":4,
           "pipelineParallelSize":2,"dtype":"fp16","maxModelLen":8192,"extraParameters":{"b":"2","a":"1"}})",
       "42f7d64b5b8b3060"},
      {R"({"model":"meta-llama/Llama-2-13b-hf","backendFramework":"sglang","dynamoVersion":"0.4.2",
           "tensorParallelSize":2,"pipelineParallelSize":1,"dtype":"float16","maxModelLen":4096,
           "extraParameters":{"gpu_memory_utilization":"0.9"}})",
       "f4ba65bccbb8e4fb"},
  };
  for (const Row& row : rows) {
    INFO(row.identity);
    CHECK(identityHash(parsed(row.identity)) == row.hash);
  }
}

}  // namespace
}  // namespace dynamo::render::test
