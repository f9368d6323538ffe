#include "tests/bench/object_store/graph.h"

#include <array>

namespace dynamo::bench {
namespace {

using std::string_view;

constexpr std::size_t kNamespaces = 100;

constexpr std::array<string_view, 8> kModels = {
    "Qwen/Qwen3-0.6B",         "Qwen/Qwen3-32B-FP8",   "meta-llama/Llama-3.3-70B-Instruct",
    "deepseek-ai/DeepSeek-R1", "openai/gpt-oss-120b",  "mistralai/Mixtral-8x22B-Instruct-v0.1",
    "google/gemma-3-27b-it",   "nvidia/Nemotron-H-56B"};
constexpr std::array<string_view, 3> kEngines = {"vllm", "sglang", "trtllm"};
constexpr std::array<string_view, 12> kFlags = {
    "--tensor-parallel-size", "--max-model-len",   "--block-size",         "--gpu-memory-utilization",
    "--max-num-seqs",         "--kv-cache-dtype",  "--max-batched-tokens", "--pipeline-parallel-size",
    "--router-temperature",   "--migration-limit", "--served-model-name",  "--seed"};
constexpr std::array<string_view, 10> kVariables = {
    "HF_HOME",       "NCCL_DEBUG",  "NCCL_IB_HCA",      "UCX_TLS",      "VLLM_LOGGING_LEVEL",
    "OTEL_ENDPOINT", "HTTPS_PROXY", "CUDA_MODULE_LOAD", "TRITON_CACHE", "PYTHONUNBUFFERED"};

std::string argumentsOf(string_view model, Random& random) {
  std::string list = fmt::format(R"("--model","{}")", model);
  for (std::size_t i = 2 + random.below(6); i > 0; --i) {
    list += fmt::format(R"(,"{}","{}")", random.oneOf(kFlags), 1 + random.below(8192));
  }
  return list;
}

std::string environmentOf(Random& random) {
  std::string list;
  const std::size_t first = random.below(kVariables.size());
  for (std::size_t i = random.below(5); i > 0; --i) {
    list += fmt::format(R"({}{{"name":"{}","value":"{}"}})", list.empty() ? "" : ",",
                        kVariables[(first + i) % kVariables.size()], random.suffix(4 + random.below(16)));
  }
  return list;
}

struct Engine {
  std::string image;
  string_view module;
};

std::string serviceOf(string_view type, const Engine& engine, string_view arguments, string_view more,
                      Random& random) {
  const std::size_t gpus = std::size_t{1} << random.below(4);
  return fmt::format(
      R"({{"componentType":"{}","replicas":{},"envFromSecret":"hf-token","envs":[{}],)"
      R"("resources":{{"requests":{{"cpu":"{}","memory":"{}Gi"}},"limits":{{"gpu":"{}","memory":"{}Gi"}}}},)"
      R"("extraPodSpec":{{"nodeSelector":{{"topology.kubernetes.io/zone":"zone-{}"}},)"
      R"("mainContainer":{{"image":"{}","command":["python3","-m","dynamo.{}"],"args":[{}],)"
      R"("workingDir":"/workspace/examples/backends/{}"}}}}{}}})",
      type, 1 + random.below(2), environmentOf(random), 1 + random.below(32), 8 * (1 + random.below(16)),
      gpus, 16 * (1 + random.below(16)), random.below(3), engine.image, engine.module, arguments,
      engine.module, more);
}

}  // namespace

std::string graphManifest(std::size_t number, Random& random) {
  const std::size_t team = number % kNamespaces;
  Random own{team};  // the same in each graph of the team
  const Engine engine{fmt::format("registry{}.example.com/team-{}/{}-runtime:1.{}.{}", own.below(9), team,
                                  own.suffix(6), own.below(4), own.below(9)),
                      own.oneOf(kEngines)};
  // Graphs of one namespace that serve the same model share a Service, so each has its own model.
  const std::string model = fmt::format("{}-{}", random.oneOf(kModels), number);
  const std::string adapter =
      fmt::format(R"(,"scalingAdapter":{{"enabled":true}},"modelRef":{{"name":"{}"}})", model);
  return fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{{"name":"{}-{}",)"
      R"("namespace":"team-{}","labels":{{"app.kubernetes.io/instance":"{}"}},)"
      R"("annotations":{{"argocd.argoproj.io/tracking-id":"{}:nvidia.com/DynamoGraphDeployment:team-{}/{}",)"
      R"("example.com/commit":"{}"}}}},"spec":{{"backendFramework":"{}",)"
      R"("envs":[{{"name":"MODEL_REVISION","value":"{}"}}],)"
      R"("services":{{"Frontend":{},"DecodeWorker":{},"PrefillWorker":{},"Planner":{}}}}}}})",
      own.suffix(5), number, team, own.suffix(8), own.suffix(8), team, number, random.hex(40), engine.module,
      random.hex(12),
      serviceOf("frontend", engine, R"("--router-mode","kv")",
                R"(,"ingress":{"enabled":true,"host":"h","ingressControllerClassName":"nginx"})", random),
      serviceOf("decode", engine, argumentsOf(model, random), adapter, random),
      serviceOf("prefill", engine, argumentsOf(model, random), adapter, random),
      serviceOf("planner", engine, R"("--environment","kubernetes")", "", random));
}

}  // namespace dynamo::bench
