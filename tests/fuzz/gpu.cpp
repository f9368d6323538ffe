// Metrics of DCGM exporters: any text gives a node within its limits, or an error in one line.

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/gpu/inventory.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

void checkText(std::string_view text) {
  const auto parsed = gpu::parseExporterMetrics(text);
  require(parsed == gpu::parseExporterMetrics(text), "parsing is repeatable", text);
  if (const auto* error = std::get_if<std::string>(&parsed)) {
    require(!error->empty() && error->size() < 200 && fuzz::isOneLine(*error), "an error is one short line",
            text);
    return;
  }
  const auto& node = std::get<gpu::GpuNode>(parsed);
  require(node.gpus > 0 && node.gpus <= static_cast<long long>(gpu::kMaxGpusOfNode), "GPUs have bounds",
          text);
  require(std::isfinite(node.vramMb) && node.vramMb >= 0, "memory is a number", text);
  require(node.model.size() <= gpu::kMaxNameBytes && fuzz::isOneLine(node.model), "a model is a short line",
          text);
  require(node.name.size() <= gpu::kMaxNameBytes && fuzz::isOneLine(node.name), "a name is a short line",
          text);
  require(gpu::parseExporterMetrics("# a comment\n" + std::string{text}) == parsed, "comments change nothing",
          text);
  gpu::Inventory inventory;
  gpu::addNode(inventory, node);
  const auto choice = gpu::choose(inventory, "");
  require(choice.has_value() && choice->hardware.perNode == node.gpus, "the only node is chosen", text);
  require(choice->hardware.inTotal <= gpu::kMaxTotalGpus, "the total has a bound", text);
  require(fuzz::isOneLine(gpu::foundText(inventory, *choice, "")), "what users are told is one line", text);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynamo::checkText({reinterpret_cast<const char*>(data), size});
  return 0;
}
