#include "common/gpu/request_hardware.h"

#include <fmt/format.h>

#include "common/k8s/object.h"

namespace dynamo::gpu {

std::string hardwareProblem(const json::Value& request, std::string_view why) {
  const json::Value* given = json::findObject(k8s::specOf(request), "hardware");
  const bool model = !json::findText(given, "gpuSku").empty();
  const bool number = json::find(given, "numGpusPerNode") != nullptr;
  std::string fields;
  const auto add = [&](bool isGiven, std::string_view field) {
    if (!isGiven) fields += fmt::format("{}spec.hardware.{}", fields.empty() ? "" : ", ", field);
  };
  add(model, "gpuSku");
  // The profiler can do without it, so it is not asked of those who know the rest.
  add(json::find(given, "vramMb") != nullptr || model || number, "vramMb");
  add(number, "numGpusPerNode");
  return fmt::format("GPU hardware info required but auto-discovery failed. Add {}: {}", fields, why);
}

RequestHardware hardwareFor(const json::Value& request, const Inventory& inventory) {
  const std::string_view sku = json::findText(json::findObject(k8s::specOf(request), "hardware"), "gpuSku");
  const std::optional<Choice> choice = choose(inventory, sku);
  if (!choice) return {std::nullopt, {}, hardwareProblem(request, notFoundText(inventory))};
  std::string found = foundText(inventory, *choice, sku);
  if (sku.empty() && choice->hardware.gpuSku.empty())
    return {std::nullopt, {}, hardwareProblem(request, "the model is unknown: " + found)};
  return {choice->hardware, std::move(found), {}};
}

}  // namespace dynamo::gpu
