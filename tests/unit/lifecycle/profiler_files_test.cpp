#include "common/lifecycle/profiler_files.h"

#include <catch2/catch.hpp>
#include <string>

#include "support.h"

namespace dynamo::lifecycle {
namespace {

constexpr const char* kSuccess = "status: success\ntimestamp: '2026-01-02T03:04:05Z'\n";

/// The data of the ConfigMap of the request `r`.
std::string dataOf(const ProfilerFiles& files) {
  json::Document memory;
  const json::Value made = outputConfigMap("r", "ns", files, memory.GetAllocator());
  return json::dump(*json::find(&made, "data"));
}

TEST_CASE("the output has the files of the profiler") {
  json::Document memory;
  const json::Value made =
      outputConfigMap("r", "ns", {"kind: X\n", kSuccess, std::nullopt}, memory.GetAllocator());
  CHECK(json::dump(*json::find(&made, "metadata")) ==
        R"({"name":"dgdr-output-r","namespace":"ns","labels":{"dgdr.nvidia.com/name":"r",)"
        R"("nvidia.com/managed-by":"dynamo-operator"}})");
  CHECK(
      dataOf({"kind: X\n", "status: success", "{}"}) ==
      R"({"final_config.yaml":"kind: X\n","profiler_status.yaml":"status: success","webui_data.json":"{}"})");
}

TEST_CASE("without a result the output says why (decision life-Q12)") {
  struct Row {
    const char* status;
    const char* problem;
  };
  const Row row =
      GENERATE(Row{"status: running", "the profiler has ended before it was done"},
               Row{"status: failed\nerror: no such model\nmessage: m", "profiling has failed: no such model"},
               Row{"status: failed\nmessage: 'told'", "profiling has failed: told"},
               Row{"status: failed\nerror: ''", "profiling has failed: the profiler says no more"},
               Row{"status: paused", "profiler_status.yaml has the unknown status paused"},
               Row{"", "profiler_status.yaml has no status"}, Row{"[]", "profiler_status.yaml has no status"},
               Row{"status: {a: b}", "profiler_status.yaml has no status"});
  CAPTURE(row.status);
  CHECK(profilerProblem({"kind: X", row.status, std::nullopt}) == row.problem);
  json::Document memory;
  const json::Value made = outputConfigMap("r", "ns", {"kind: X", row.status, "{}"}, memory.GetAllocator());
  const json::Value* data = json::find(&made, "data");
  CHECK(json::findText(data, "output_copier_error.txt") == row.problem);
  CHECK(json::findText(data, "profiler_status.yaml") == row.status);
  CHECK(data->MemberCount() == 2);
}

TEST_CASE("a profiler that ends without a word in its status has said why in its log (decision life-Q12)") {
  const std::string known = "the profiler has ended before it was done";
  const auto problem = [](std::string log) {
    return profilerProblem({std::nullopt, "status: running", std::nullopt, std::move(log)});
  };
  CHECK(problem("") == known);
  CHECK(problem("now - dynamo.profiler - INFO - Profiler config: itl=0.0\n") == known);
  CHECK(problem("now - cli - ERROR - No successful runs.\nnow - cli - ERROR -   -> agg has no results\n"
                "now - dynamo.profiler - INFO - Performing final cleanup\n") ==
        known + ": agg has no results");
  CHECK(problem("now - cli - ERROR - a - ERROR - b\nTraceback:\n") == known + ": a - ERROR - b");
  CHECK(problem("now - cli - ERROR - no newline at the end") == known + ": no newline at the end");
  CHECK(problem("now - cli - ERROR - ->") == known);
  CHECK(problem("now - cli - ERROR - " + std::string(5000, 'x')) == known);
  CHECK(problem("now - cli - ERROR - \xFF") == known);
}

TEST_CASE("files that are missing or that no ConfigMap can hold") {
  const std::string large(kMaxConfigMapBytes, 'x');
  CHECK(profilerProblem({"r", std::nullopt, {}}) == "the profiler has written no profiler_status.yaml");
  CHECK(profilerProblem({std::nullopt, kSuccess, {}}) == "the profiler has written no final_config.yaml");
  CHECK(profilerProblem({"\xFF", kSuccess, {}}) == "final_config.yaml is no text");
  CHECK(profilerProblem({large, kSuccess, {}}) ==
        "final_config.yaml has 1000000 bytes; a ConfigMap holds at most 1000000");
  CHECK(profilerProblem({"r", "{{{", {}}).starts_with("profiler_status.yaml: line 1"));
  CHECK(dataOf({"r", "status: success", large}) ==
        R"({"final_config.yaml":"r","profiler_status.yaml":"status: success"})");
  CHECK(dataOf({"r", "status: success", "\xFF"}) ==
        R"({"final_config.yaml":"r","profiler_status.yaml":"status: success"})");
}

}  // namespace
}  // namespace dynamo::lifecycle
