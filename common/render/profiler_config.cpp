#include "common/render/profiler_config.h"

#include <algorithm>
#include <array>

#include "common/json/build.h"
#include "common/render/go_types.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

bool knows(const Value* hardware, std::string_view field) {
  const Value* value = json::find(hardware, field);
  return value != nullptr && !json::isEmpty(*value);
}

/// What the profiler fails without.
constexpr std::array<std::string_view, 2> kNeeded = {"gpuSku", "numGpusPerNode"};

/// What the user gives, and what discovery knows of the rest (life-Q1).
Value hardwareOf(const Value& request, const Context& context, Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* given = json::findObject(specOf(request), "hardware");
  Value hardware = given == nullptr ? make.object() : make.value(*given);
  const std::optional<HardwareFact>& found = context.hardware ? context.hardware : context.facts.hardware();
  if (!found || !needsDiscovery(request)) return hardware;
  const auto fill = [&](std::string_view field, Value&& value) {
    if (!knows(given, field)) make.set(hardware, field, std::move(value));
  };
  if (!found->gpuSku.empty()) fill("gpuSku", make.value(std::string_view{found->gpuSku}));
  if (found->perNode > 0) fill("numGpusPerNode", make.value(found->perNode));
  // The rest is only true of these GPUs.
  if (json::findText(&hardware, "gpuSku") != found->gpuSku) return hardware;
  if (found->vramMb > 0) fill("vramMb", Value{found->vramMb});
  if (found->inTotal > 0) fill("totalGpus", make.value(found->inTotal));
  return hardware;
}

}  // namespace

bool needsDiscovery(const Value& request) {
  const Value* given = json::findObject(specOf(request), "hardware");
  return !std::all_of(kNeeded.begin(), kNeeded.end(),
                      [&](std::string_view field) { return knows(given, field); });
}

void checkProfilerConfig(const Value& request, const Context& context, Errors& errors) {
  json::Document document;
  const Value hardware = hardwareOf(request, context, document.GetAllocator());
  const auto required = [&](field::Path&& path, const char* detail, const char* rule) {
    errors.push_back({field::ErrorType::Required, std::move(path), "", detail, rule});
  };
  if (json::findText(specOf(request), "image").empty()) {
    required(field::Path{"spec.image"}, "the profiler runs in it", "render.profiler-image");
  }
  for (const std::string_view field : kNeeded) {
    if (knows(&hardware, field)) continue;
    required(field::Path{"spec.hardware"} / field, "GPU discovery has not found it", kHardwareRule);
  }
}

std::string profilerConfig(const Value& request, const Context& context) {
  json::Document document;
  Allocator& allocator = document.GetAllocator();
  const Value* given = specOf(request);
  Value spec = given == nullptr ? Value{rapidjson::kObjectType} : json::share(*given, allocator);
  json::set(spec, "hardware", hardwareOf(request, context, allocator), allocator);
  return goTypedJson(spec, "RequestSpec");
}

}  // namespace dynamo::render
