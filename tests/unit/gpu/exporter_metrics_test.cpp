// Metrics of DCGM exporters.
#include "common/gpu/exporter_metrics.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace dynamo::gpu::test {
namespace {

std::string row(std::string_view gauge, std::string_view gpu, double value,
                std::string_view model = "NVIDIA H100 80GB HBM3", std::string_view host = "node-a") {
  return fmt::format("DCGM_FI_DEV_{}{{gpu=\"{}\",UUID=\"u\",modelName=\"{}\",Hostname=\"{}\"}} {}\n", gauge,
                     gpu, model, host, value);
}

/// "name: gpus x model, vram", or the error.
std::string parsed(std::string_view text) {
  const auto result = parseExporterMetrics(text);
  if (const auto* error = std::get_if<std::string>(&result)) return "error: " + *error;
  const auto& node = std::get<GpuNode>(result);
  return fmt::format("{}: {} x {}, {}", node.name, node.gpus, node.model, node.vramMb);
}

TEST_CASE("GPUs are counted, and the largest memory counts") {
  const std::string two = row("GPU_TEMP", "0", 35) + row("GPU_TEMP", "1", 36) + row("FB_FREE", "0", 10000) +
                          row("FB_FREE", "1", 12000) + row("FB_USED", "0", 5000) + row("FB_USED", "1", 6000) +
                          row("FB_RESERVED", "0", 0) + row("FB_RESERVED", "1", 0);
  CHECK(parsed("# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n" +
               two) == "node-a: 2 x NVIDIA H100 80GB HBM3, 18000");
}

TEST_CASE("rows of metrics") {
  const std::string one = row("GPU_TEMP", "0", 35);
  const std::string h100 = "node-a: 1 x NVIDIA H100 80GB HBM3, ";
  struct Row {
    const char* what;
    std::string text;
    std::string result;
  };
  const Row rows[] = {
      {"no memory", one, h100 + "0"},
      {"parts of the memory are missing", one + row("FB_USED", "0", 7.9), h100 + "7"},
      {"the last row of a GPU counts", one + row("FB_FREE", "0", 5) + row("FB_FREE", "0", 6), h100 + "6"},
      {"a GPU twice, as with MIG", one + one, h100 + "0"},
      {"a GPU without a name", one + row("GPU_TEMP", "", 35), h100 + "0"},
      {"memory of no GPU", one + row("FB_FREE", "7", 5), h100 + "0"},
      {"a memory that is no number", one + "DCGM_FI_DEV_FB_FREE{gpu=\"0\"} NaN\n", h100 + "0"},
      {"a memory without end", one + "DCGM_FI_DEV_FB_FREE{gpu=\"0\"} +Inf\n", h100 + "0"},
      {"a number that is too large", one + "DCGM_FI_DEV_FB_FREE{gpu=\"0\"} 1e999\n", h100 + "0"},
      {"a negative memory", one + row("FB_FREE", "0", -5), h100 + "0"},
      {"the first model that is there", row("GPU_TEMP", "0", 1, "") + row("GPU_TEMP", "1", 1, "B"),
       "node-a: 2 x B, 0"},
      {"the node of another gauge", row("FB_FREE", "0", 1, "", "node-b") + row("GPU_TEMP", "0", 1, "A", ""),
       "node-b: 1 x A, 1"},
      {"no labels", "DCGM_FI_DEV_GPU_TEMP 35\n", "error: no metric DCGM_FI_DEV_GPU_TEMP of a GPU"},
      {"blanks, a comma at the end, a time",
       "DCGM_FI_DEV_GPU_TEMP { gpu = \"0\" , modelName=\"A\", } 35 1700000000\r\n", ": 1 x A, 0"},
      {"escapes", R"(DCGM_FI_DEV_GPU_TEMP{gpu="0",modelName="a\"b\\c\nd"} 1)", ": 1 x a\"b\\c d, 0"},
      {"other metrics may be anything", "DCGM_FI_DEV_GPU_TEMP_LIMIT{{{\nfoo{\"\n\x01\xff\n" + one,
       h100 + "0"},
      {"nothing", "", "error: no metric DCGM_FI_DEV_GPU_TEMP of a GPU"},
      {"a page", "<!DOCTYPE html>\n<p>Not found</p>", "error: no metric DCGM_FI_DEV_GPU_TEMP of a GPU"},
      {"no end of a text", one + "DCGM_FI_DEV_FB_FREE{gpu=\"0",
       "error: line 2: the value of a label has no end"},
      {"an escape at the end", "DCGM_FI_DEV_FB_FREE{gpu=\"0\\",
       "error: line 1: the value of a label has no end"},
      {"no quotes", "DCGM_FI_DEV_GPU_TEMP{gpu=0} 1", "error: line 1: a label has no quoted value"},
      {"no name", "DCGM_FI_DEV_GPU_TEMP{=\"0\"} 1", "error: line 1: a label has no name"},
      {"no comma", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\" a=\"b\"} 1",
       "error: line 1: labels are not separated by a comma"},
      {"no value", "\n\nDCGM_FI_DEV_GPU_TEMP{gpu=\"0\"}", "error: line 3: the value is no number"},
      {"a word for a value", "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 3x", "error: line 1: the value is no number"},
  };
  for (const Row& each : rows) {
    INFO(each.what);
    CHECK(parsed(each.text) == each.result);
  }
}

TEST_CASE("metrics are bounded") {
  const std::string one = row("GPU_TEMP", "0", 35);
  std::string full = one + "# " + std::string(kMaxMetricsBytes - one.size() - 2, 'x');
  CHECK(parsed(full) == "node-a: 1 x NVIDIA H100 80GB HBM3, 0");
  CHECK(parsed(full + "x") == "error: more than 1048576 bytes");
  std::string many;
  for (std::size_t i = 0; i <= kMaxGpusOfNode; ++i)
    many += fmt::format("DCGM_FI_DEV_GPU_TEMP{{gpu=\"{}\"}} 1\n", i);
  CHECK(parsed(many) == "error: line 1025: there are more GPUs than a node can have");
  const std::string name(1000, 'm');
  const auto cut = parseExporterMetrics(row("GPU_TEMP", "0", 1, name, name));
  CHECK(std::get<GpuNode>(cut).model.size() <= kMaxNameBytes);
  CHECK(std::get<GpuNode>(cut).name.size() <= kMaxNameBytes);
}

}  // namespace
}  // namespace dynamo::gpu::test
