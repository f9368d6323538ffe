// Outputs of the real profiler (ai-dynamo 1.0.0, aiconfigurator 0.7.0) in profiler/, of which the lists of
// numbers are cut. They have nulls everywhere, an alias where tolerations are given, and ConfigMaps before
// the graph.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "common/json/build.h"
#include "common/lifecycle/profiling_output.h"
#include "tests/unit/source_dir.h"

namespace dynamo::lifecycle {
namespace {

std::string recorded(std::string_view name) {
  std::ifstream file{dynamo::test::sourceFile(fmt::format("tests/unit/lifecycle/profiler/{}.yaml", name)),
                     std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

bool hasNull(const json::Value& value) {
  if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      if (hasNull(member.value)) return true;
    }
  } else if (value.IsArray()) {
    for (const json::Value& item : value.GetArray()) {
      if (hasNull(item)) return true;
    }
  }
  return value.IsNull();
}

/// "Frontend 1, Planner 1"
std::string servicesOf(const json::Value& graph) {
  std::string text;
  for (const auto& each : json::findObject(json::findObject(&graph, "spec"), "services")->GetObject())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", json::text(each.name),
                        json::find(&each.value, "replicas")->GetInt());
  return text;
}

std::string namesOf(const std::vector<json::Value>& documents) {
  std::string text;
  for (const json::Value& one : documents)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", json::findText(&one, "kind"),
                        json::findText(json::findObject(&one, "metadata"), "name"));
  return text;
}

TEST_CASE("outputs of the real profiler are read completely") {
  struct Row {
    const char* file;
    const char* name;
    const char* services;
    const char* additional;
    std::vector<std::string> parts;
  };
  const std::vector<Row> rows = {
      {"vllm",
       "vllm-agg",
       "Frontend 1, VllmDecodeWorker 2",
       "",
       {R"("resources":{"limits":{"gpu":"4"}})", R"("--max-num-batched-tokens","6012")",
        R"("envFromSecret":"hf-token-secret")", R"("workingDir":"/workspace/examples/backends/vllm")"}},
      {"trtllm",
       "trtllm-agg",
       "Frontend 1, TRTLLMWorker 4",
       "",
       {R"("tolerations":[{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"}],"mainContainer")",
        R"("envFromSecret":"hf-token-secret","extraPodSpec":{"tolerations":[{"key":"nvidia.com/gpu")",
        R"(\"kv_cache_config\": {\"dtype\": \"auto\", \"tokens_per_block\": 32})"}},
      {"mocker",
       "mocker-disagg",
       "Frontend 1, Planner 1, decode 1, prefill 1",
       "ConfigMap planner-config-6cae, ConfigMap planner-profile-data-36f1",
       {R"("configMap":{"name":"planner-config-6cae"})",
        R"("--planner-profile-data","/workspace/profiling_results")", R"("subComponentType":"prefill")"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.file);
    json::Document data;
    const json::Maker make{data.GetAllocator()};
    const std::string text = recorded(row.file);
    const json::Value output = make.object("data", make.object("final_config.yaml", std::string_view{text}));
    const auto read = readProfilingOutput(output, data.GetAllocator());
    REQUIRE(std::holds_alternative<ProfilingOutput>(read));
    const auto& found = std::get<ProfilingOutput>(read);
    CHECK(json::findText(json::findObject(&found.graph, "metadata"), "name") == row.name);
    CHECK(servicesOf(found.graph) == row.services);
    CHECK(namesOf(found.additional) == row.additional);
    CHECK_FALSE(hasNull(found.graph));
    CHECK(found.unknownFields.empty());
    const std::string graph = json::dump(found.graph);
    CAPTURE(graph);
    for (const std::string& part : row.parts) {
      CAPTURE(part);
      CHECK(graph.find(part) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace dynamo::lifecycle
