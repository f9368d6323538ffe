#include "common/lifecycle/profiling_output.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <ctime>

#include "common/json/build.h"
#include "common/json/parse.h"

namespace dynamo::lifecycle {
namespace {

/// The time of the processor, which does not count what else the machine does.
double secondsSince(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// A ConfigMap with these keys.
json::Document configMap(const std::vector<std::pair<std::string, std::string>>& data) {
  json::Document made;
  const json::Maker make{made.GetAllocator()};
  json::Value values = make.object();
  for (const auto& [key, text] : data) make.set(values, key, text);
  static_cast<json::Value&>(made) = make.object("data", std::move(values));
  return made;
}

std::string problemOf(const std::string& result) {
  json::Document memory;
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", result}}), memory.GetAllocator());
  const auto* problem = std::get_if<ProfilingProblem>(&read);
  return problem == nullptr ? "" : problem->message;
}

constexpr const char* kGraph = R"(apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: vllm-agg
  labels: {team: a}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      resources: null
      subComponentType: null
      extraPodSpec:
        mainContainer: {image: "img:1", command: null, resources: null}
)";

TEST_CASE("the graph of a profiling output has no nulls") {
  json::Document memory;
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", kGraph}}), memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  const auto& output = std::get<ProfilingOutput>(read);
  CHECK(
      json::dump(output.graph) ==
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"vllm-agg",)"
      R"("labels":{"team":"a"}},"spec":{"services":{"Frontend":{"componentType":"frontend","extraPodSpec":)"
      R"({"mainContainer":{"name":"","image":"img:1","resources":{}}},"replicas":1}}},"status":{"state":""}})");
  CHECK(output.unknownFields.empty());
  CHECK(output.additional.empty());
  CHECK(output.pareto.Empty());
}

TEST_CASE("parts of a pod that no schema knows have no nulls either") {
  json::Document memory;
  const std::string text = std::string{kGraph} + "        other: {command: null, args: [a, null]}\n";
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", text}}), memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  CHECK(json::dump(std::get<ProfilingOutput>(read).graph).find("null") == std::string::npos);
}

TEST_CASE("a status that somebody has written into the output is kept") {
  json::Document memory;
  const std::string text =
      std::string{kGraph} +
      "status: {state: successful, services: null, conditions: [{type: A, reason: null}]}\n";
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", text}}), memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  const json::Value& graph = std::get<ProfilingOutput>(read).graph;
  CHECK(json::dump(*json::find(graph, "status")) == R"({"state":"successful","conditions":[{"type":"A"}]})");
}

TEST_CASE("other documents are kept in order, and the last graph counts") {
  const std::string stream =
      "---\nkind: ConfigMap\nmetadata: {name: b}\ndata: {z: '1', a: '2'}\n---\nkind: DynamoGraphDeployment\n"
      "metadata: {name: first}\n---\nnot: a kind\n---\n" +
      std::string{kGraph} + "---\nkind: Secret\nmetadata: {name: s}\n";
  json::Document memory;
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", stream}}), memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  const auto& output = std::get<ProfilingOutput>(read);
  CHECK(json::findText(json::find(output.graph, "metadata"), "name") == "vllm-agg");
  CHECK(additionalText(output) ==
        "data:\n  a: \"2\"\n  z: \"1\"\nkind: ConfigMap\nmetadata:\n  name: b\n\n---\nkind: "
        "Secret\nmetadata:\n  "
        "name: s\n");
}

TEST_CASE("what is wrong with a profiling output") {
  struct Row {
    const char* about;
    std::string text;
    const char* problem;
  };
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'k'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c,
                        static_cast<char>(c - 1));
  for (const Row& row : {
           Row{"nothing", "", "the output has no final_config.yaml"},
           Row{"no YAML", "{{{", "final_config.yaml: line 1"},
           Row{"no graph", "kind: ConfigMap\n", "final_config.yaml has no DynamoGraphDeployment"},
           Row{"no name", "kind: DynamoGraphDeployment\nspec: {}\n", "has no name"},
           Row{"a wrong type",
               "kind: DynamoGraphDeployment\nmetadata: {name: g}\nspec: {services: {A: {replicas: two}}}\n",
               "DynamoGraphDeployment g: spec.services.A.replicas: "},
           Row{"aliases without end", bomb, "final_config.yaml: line "},
       }) {
    CAPTURE(row.about);
    const std::string problem = problemOf(row.text);
    CAPTURE(problem);
    CHECK(problem.find(row.problem) != std::string::npos);
    CHECK(problem.size() < 2000);
  }
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST_CASE("an output over a limit is refused at once (decision life-Q36)") {
  struct Row {
    const char* about;
    std::string text;
    const char* problem;
  };
  std::string doubled = "a0: &a0 [x, x]\n";
  for (int i = 1; i <= 30; ++i) doubled += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  std::string bombs;
  for (int i = 0; i < 1'000; ++i) {
    bombs +=
        "---\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
        "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n";
  }
  for (const Row& row :
       {Row{"10 MB of text", kGraph + std::string(10'000'000, '#'), "final_config.yaml has 100"},
        Row{"10 MB of values", "a: [" + repeated("x,", 5'000'000) + "]", "; at most 1048576 are read"},
        Row{"anchors that double 30 times", doubled, "aliases expand the document beyond the limit"},
        Row{"aliases that expand many documents a little", bombs,
            "aliases expand the document beyond the limit"},
        Row{"open brackets", "{{{", "final_config.yaml: line 1"},
        Row{"a megabyte of open brackets", std::string(1'000'000, '{'), "final_config.yaml: line 1"},
        Row{"1,000 documents", repeated("---\nkind: ConfigMap\n", 1'000) + "---\n" + kGraph,
            "final_config.yaml has 1001 documents; at most 100 are read"},
        Row{"a graph that no annotation holds",
            std::string{kGraph} + "  envs: [{name: A, value: " + std::string(240'000, 'x') + "}]\n",
            "bytes as YAML; an annotation holds at most 240000"}}) {
    CAPTURE(row.about);
    json::Document memory;
    const json::Document output = configMap({{"final_config.yaml", row.text}});
    const std::clock_t start = std::clock();
    const auto read = readProfilingOutput(output, memory.GetAllocator());
    CHECK(secondsSince(start) < 5);
    CHECK(memory.GetAllocator().Size() < 16'000'000);
    const auto* problem = std::get_if<ProfilingProblem>(&read);
    REQUIRE(problem != nullptr);
    CAPTURE(problem->message);
    CHECK(problem->message.find(row.problem) != std::string::npos);
    CHECK(problem->message.size() < 500);
    CHECK_FALSE(problem->ofProfiler);
  }
}

TEST_CASE("an object with many members is read at once (decision life-Q36)") {
  std::string text = "kind: ConfigMap\nmetadata: {name: c}\ndata:\n";
  for (int i = 0; i < 70'000; ++i) text += fmt::format("  k{}: x\n", i);
  json::Document memory;
  const json::Document output = configMap({{"final_config.yaml", text + "---\n" + kGraph}});
  const std::clock_t start = std::clock();
  const auto read = readProfilingOutput(output, memory.GetAllocator());
  CHECK(secondsSince(start) < 5);
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  CHECK(std::get<ProfilingOutput>(read).additional.size() == 1);
}

TEST_CASE("alternatives over a limit are left out (decision life-Q36)") {
  struct Row {
    const char* about;
    std::string cell;  // of every row of the table
    std::size_t rows;
    std::size_t least;
    std::size_t most;
  };
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c < 'f'; ++c)
    bomb += fmt::format("{0}: &{0} [*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1},*{1}]\n", c,
                        static_cast<char>(c - 1));
  for (const Row& row :
       {Row{"few", "a: 1\n", 10, 10, 10}, Row{"many", "a: " + std::string(10'000, 'x') + "\n", 100, 40, 50},
        Row{"aliases", bomb, 1'000, 0, 1}}) {
    CAPTURE(row.about);
    json::Document page;
    const json::Maker make{page.GetAllocator()};
    json::Value rows = make.list();
    for (std::size_t i = 0; i < row.rows; ++i)
      make.push(rows, make.list(1, 2, 3, 4, 5, 6, std::string_view{row.cell}));
    const std::string text =
        json::dump(make.object("cost", make.object("table", make.object("data", std::move(rows)))));
    json::Document memory;
    const json::Document output = configMap({{"final_config.yaml", kGraph}, {"webui_data.json", text}});
    const std::clock_t start = std::clock();
    const auto read = readProfilingOutput(output, memory.GetAllocator());
    CHECK(secondsSince(start) < 5);
    REQUIRE(std::holds_alternative<ProfilingOutput>(read));
    const json::Value& pareto = std::get<ProfilingOutput>(read).pareto;
    CHECK(pareto.Size() >= row.least);
    CHECK(pareto.Size() <= row.most);
    CHECK(json::dump(pareto).size() < kMaxParetoBytes + 20'000);
  }
}

TEST_CASE("the copier tells why there is no output (decision life-Q12)") {
  json::Document memory;
  const auto read =
      readProfilingOutput(configMap({{"final_config.yaml", kGraph},
                                     {"output_copier_error.txt", "profiling has failed: no model"}}),
                          memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingProblem>(read));
  CHECK(std::get<ProfilingProblem>(read).ofProfiler);
  CHECK(std::get<ProfilingProblem>(read).message == "profiling has failed: no model");
}

TEST_CASE("unknown fields of the graph are told and left out") {
  const std::string text = std::string{kGraph} + "  extra: 1\n  \"of two\\nlines\": 1\n";
  json::Document memory;
  const auto read = readProfilingOutput(configMap({{"final_config.yaml", text}}), memory.GetAllocator());
  REQUIRE(std::holds_alternative<ProfilingOutput>(read));
  const auto& output = std::get<ProfilingOutput>(read);
  CHECK(output.unknownFields == std::vector<std::string>{"spec.extra", "spec.of two lines"});
  CHECK(json::dump(output.graph).find("extra\"") == std::string::npos);
}

TEST_CASE("alternatives are the rows of the web interface with a configuration") {
  const std::string page =
      R"({"cost":{"table":{"data":[["1","2","3","4","5","6","# comment\nkind: A\nx: 1.50\n"],["short"],)"
      R"(["1","2","3","4","5","6","# only\n"],["1","2","3","4","5","6",7],["1","2","3","4","5","6",)"
      R"("  # c\nb: [1, \"2\"]\n"],["1","2","3","4","5","6","- list\n"]]}}})";
  struct Row {
    std::string page;
    const char* pareto;
  };
  for (const Row& row :
       {Row{page, R"([{"config":{"kind":"A","x":1.5}},{"config":{"b":[1,"2"]}}])"}, Row{"{{{", "[]"},
        Row{R"({"cost":{}})", "[]"}, Row{R"({"cost":{"table":{"data":{}}}})", "[]"}}) {
    json::Document memory;
    const auto read = readProfilingOutput(
        configMap({{"final_config.yaml", kGraph}, {"webui_data.json", row.page}}), memory.GetAllocator());
    REQUIRE(std::holds_alternative<ProfilingOutput>(read));
    CHECK(json::dump(std::get<ProfilingOutput>(read).pareto) == row.pareto);
  }
}

}  // namespace
}  // namespace dynamo::lifecycle
