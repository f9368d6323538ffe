// What users are told of GPU discovery.
#include <fmt/format.h>

#include <algorithm>

#include "common/gpu/inventory.h"

namespace dynamo::gpu {
namespace {

/// A message names this many problems. A cluster may have hundreds of exporters that do not answer.
constexpr std::size_t kMaxProblems = 5;

std::string counted(long long number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// Why there are no metrics of exporters; empty if no namespace could be read, which the problems say.
std::string noMetrics(const Inventory& inventory) {
  if (inventory.exporters != 0)
    return fmt::format("{} gave no metrics of GPUs",
                       counted(static_cast<long long>(inventory.exporters), "DCGM exporter"));
  if (!inventory.namespaces.empty())
    return fmt::format("no DCGM exporter runs in {} {}",
                       inventory.namespaces.size() == 1 ? "namespace" : "namespaces",
                       fmt::join(inventory.namespaces, ", "));
  return inventory.problems.empty() ? "gpu.exporterNamespaces of the operator's configuration is empty" : "";
}

std::string problems(const Inventory& inventory) {
  const std::size_t shown = std::min(inventory.problems.size(), kMaxProblems);
  const auto first = inventory.problems.begin();
  std::string text = fmt::format("{}", fmt::join(first, first + static_cast<std::ptrdiff_t>(shown), "; "));
  if (shown < inventory.problems.size())
    text += fmt::format("; and {} more", inventory.problems.size() - shown);
  return text;
}

}  // namespace

std::string foundText(const Inventory& inventory, const Choice& choice, std::string_view gpuSku) {
  const GpuNode& node = choice.node;
  std::string text = fmt::format("node {} has {}", node.name.empty() ? "without a name" : node.name,
                                 counted(node.gpus, "GPU"));
  if (!node.model.empty()) text += " " + node.model;
  if (choice.hardware.gpuSku != node.model) text += fmt::format(" ({})", choice.hardware.gpuSku);
  if (node.vramMb > 0) text += fmt::format(" of {:.0f} MiB", node.vramMb);
  text += fmt::format(", {} in total on {}", counted(choice.inTotal, "such GPU"),
                      counted(static_cast<long long>(choice.alike), "node"));
  if (choice.inTotal > kMaxTotalGpus) text += fmt::format(", of which profiling uses {}", kMaxTotalGpus);
  if (!choice.asRequested) {
    text += fmt::format(
        "; no node has GPUs of spec.hardware.gpuSku {}, so only numGpusPerNode is taken from it", gpuSku);
  }
  text += inventory.source == Source::Exporters ? "; found by DCGM exporters"
                                                : "; found by labels of GPU feature discovery";
  const std::string missing = inventory.source == Source::NodeLabels ? noMetrics(inventory) : "";
  if (!missing.empty()) text += ", because " + missing;
  if (!inventory.problems.empty()) text += "; not read: " + problems(inventory);
  return text;
}

std::string notFoundText(const Inventory& inventory) {
  std::string text = noMetrics(inventory);
  const auto add = [&](std::string_view more) { text.append(text.empty() ? "" : "; ").append(more); };
  if (inventory.labelsRead)
    add("no node has the labels nvidia.com/gpu.product, nvidia.com/gpu.count and nvidia.com/gpu.memory");
  if (!inventory.problems.empty()) add("not read: " + problems(inventory));
  return text;
}

}  // namespace dynamo::gpu
