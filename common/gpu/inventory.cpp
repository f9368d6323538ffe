#include "common/gpu/inventory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "common/field/show.h"

namespace dynamo::gpu {
namespace {

struct Sku {
  std::string_view part;  ///< of the model, in capitals without "-" and spaces
  std::string_view sku;
};

/// The first match counts: GB200 contains B200.
constexpr std::array<Sku, 6> kSkus = {{{"GB200", "gb200_sxm"},
                                       {"H200", "h200_sxm"},
                                       {"H100", "h100_sxm"},
                                       {"B200", "b200_sxm"},
                                       {"A100", "a100_sxm"},
                                       {"L40S", "l40s"}}};

std::string plain(std::string_view model) {
  std::string text;
  for (const char c : model) {
    if (c != '-' && c != ' ') text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::optional<long long> positive(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

bool isBetter(const GpuNode& a, const GpuNode& b) {
  return a.gpus != b.gpus ? a.gpus > b.gpus : a.vramMb > b.vramMb;
}

}  // namespace

std::string skuOf(std::string_view model) {
  const std::string text = plain(model);
  for (const Sku& each : kSkus) {
    if (text.find(each.part) != std::string::npos) return std::string{each.sku};
  }
  return std::string{model};
}

std::optional<GpuNode> nodeOfLabels(const json::Value& node) {
  const json::Value* metadata = json::findObject(&node, "metadata");
  const json::Value* labels = json::findObject(metadata, "labels");
  const auto gpus = positive(json::findText(labels, "nvidia.com/gpu.count"));
  const auto memory = positive(json::findText(labels, "nvidia.com/gpu.memory"));
  const std::string_view model = json::findText(labels, "nvidia.com/gpu.product");
  if (!gpus || !memory || model.empty()) return std::nullopt;
  return GpuNode{std::string{json::findText(metadata, "name")}, field::oneLine(model, kMaxNameBytes), *gpus,
                 static_cast<double>(*memory)};
}

void addNode(Inventory& inventory, GpuNode node) {
  const bool known = std::any_of(inventory.nodes.begin(), inventory.nodes.end(),
                                 [&](const GpuNode& each) { return each.name == node.name; });
  if (!known) inventory.nodes.push_back(std::move(node));
}

std::optional<Choice> choose(const Inventory& inventory, std::string_view gpuSku) {
  const auto best = [&](std::string_view sku) {
    const GpuNode* found = nullptr;
    for (const GpuNode& node : inventory.nodes) {
      if (!sku.empty() && skuOf(node.model) != sku) continue;
      if (found == nullptr || isBetter(node, *found)) found = &node;
    }
    return found;
  };
  const GpuNode* node = best(gpuSku);
  Choice choice;
  choice.asRequested = node != nullptr;
  if (node == nullptr) node = best({});
  if (node == nullptr) return std::nullopt;
  choice.node = *node;
  choice.hardware = {skuOf(node->model), node->vramMb, node->gpus, 0};
  for (const GpuNode& each : inventory.nodes) {
    if (skuOf(each.model) != choice.hardware.gpuSku) continue;
    ++choice.alike;
    choice.inTotal += each.gpus;
  }
  choice.hardware.inTotal = std::min(choice.inTotal, kMaxTotalGpus);
  return choice;
}

}  // namespace dynamo::gpu
