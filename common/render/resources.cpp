#include "common/render/resources.h"

#include <charconv>
#include <limits>
#include <optional>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/quantity.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;

/// limits.gpu, else requests.gpu (quirk pod-Q1: a GPU request without a limit is also the limit).
std::string_view gpuText(const Value* resources) {
  const std::string_view limit = json::findText(json::findObject(resources, "limits"), "gpu");
  return limit.empty() ? json::findText(json::findObject(resources, "requests"), "gpu") : limit;
}

std::optional<long long> wholeNumber(std::string_view text) {
  constexpr int kNano = 1'000'000'000;
  const auto quantity = k8s::parseQuantity(text);
  if (!quantity || quantity->nano % kNano != 0) return std::nullopt;
  const auto number = quantity->nano / kNano;
  constexpr int kMost = std::numeric_limits<int>::max();
  if (number > kMost || number < -kMost) return std::nullopt;
  return static_cast<long long>(number);
}

/// The GPUs of a container whose component gives no number: its limit, else its request. Rendering puts the
/// custom resources of the component over those of the container.
long long containerGpus(const Value* resources, const Value& main) {
  const std::string_view type = gpuResource(resources);
  for (const std::string_view kind : {"limits", "requests"}) {
    const Value* custom = json::findObject(json::findObject(resources, kind), "custom");
    const Value* own = json::findObject(json::findObject(&main, "resources"), kind);
    for (const Value* map : {custom, own}) {
      const Value* found = json::find(map, type);
      if (found != nullptr) return wholeNumber(k8s::quantityText(*found).value_or("")).value_or(0);
    }
  }
  return 0;
}

const field::Path kResources{"resources"};

class Target {
 public:
  Target(const Component& component, std::string_view kind, Value& container, Errors& errors,
         const model::Recording& recording, Allocator& allocator)
      : component_(component),
        kind_(kind),
        container_(container),
        errors_(errors),
        recording_(recording),
        allocator_(allocator) {}

  /// `at`: of the text, below requests or limits; `from`: which of them has it.
  void put(std::string_view resource, std::string_view text, const field::At& at, std::string_view from) {
    if (!k8s::parseQuantity(text)) {
      errors_.push_back({field::ErrorType::Invalid, component_.path / "resources" / kind_ / at.path(),
                         field::showValue(text), "must be a quantity, such as 500m, 2 or 16Gi",
                         "render.quantity"});
      return;
    }
    Value& resources = json::ensureObject(container_, "resources", allocator_);
    Value& map = json::ensureObject(resources, kind_, allocator_);
    if (recording_.origins != nullptr) {
      recording_.origins->user((recording_.at / "resources" / kind_).key(resource),
                               kResources / from / at.path());
    }
    json::set(map, resource, json::string(text, allocator_), allocator_);
  }

 private:
  const Component& component_;
  std::string_view kind_;
  Value& container_;
  Errors& errors_;
  const model::Recording& recording_;
  Allocator& allocator_;
};

}  // namespace

std::string_view gpuResource(const Value* resources) {
  const Value* limits = json::findObject(resources, "limits");
  std::string_view type = json::findText(limits, "gpuType");
  if (type.empty() && json::findText(limits, "gpu").empty()) {
    type = json::findText(json::findObject(resources, "requests"), "gpuType");
  }
  return type.empty() ? api::kDefaultGpuResource : type;
}

GpuPlace gpuPlace(const Value& component, const Value& main) {
  const Value* resources = json::findObject(&component, "resources");
  if (!gpuText(resources).empty()) return GpuPlace::Service;
  const std::string_view type = gpuResource(resources);
  for (const std::string_view kind : {"limits", "requests"}) {
    const Value* custom = json::findObject(json::findObject(resources, kind), "custom");
    const Value* own = json::findObject(json::findObject(&main, "resources"), kind);
    if (json::find(custom, type) != nullptr || json::find(own, type) != nullptr) return GpuPlace::Container;
  }
  return GpuPlace::Nowhere;
}

long long gpusOf(const Value& component, const Value& main) {
  const Value* resources = json::findObject(&component, "resources");
  std::string_view text = gpuText(resources);
  if (text.empty()) return containerGpus(resources, main);
  const Value* own = json::findObject(json::findObject(&main, "resources"), "limits");
  const Value* limit = json::find(own, gpuResource(resources));
  if (!text.empty() && json::findText(json::findObject(resources, "limits"), "gpu").empty() &&
      limit != nullptr) {
    return wholeNumber(k8s::quantityText(*limit).value_or("")).value_or(0);
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  long long count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? count : 0;
}

bool lacksGpus(const Value& component, const Value& main) {
  if (gpusOf(component, main) != 0) return false;
  const std::string_view text = gpuText(json::findObject(&component, "resources"));
  return text.empty() || wholeNumber(text).has_value();
}

GpuCount countedGpus(const Value& component) {
  const Value* resources = json::findObject(&component, "resources");
  for (const std::string_view kind : {"requests", "limits"}) {
    const std::string_view text = json::findText(json::findObject(resources, kind), "gpu");
    if (const auto number = wholeNumber(text)) return {*number, field::Path{"resources"} / kind / "gpu"};
  }
  const std::string_view type = gpuResource(resources);
  const Value* custom = json::findObject(json::findObject(resources, "limits"), "custom");
  if (const auto number = wholeNumber(json::findText(custom, type))) {
    return {*number, field::Path{"resources.limits.custom"}.key(type)};
  }
  return {};
}

void applyResources(const Component& component, Value& container, Errors& errors,
                    const model::Recording& recording, Allocator& allocator) {
  const Value* resources = json::findObject(&component.spec, "resources");
  if (resources == nullptr) return;
  for (const std::string_view kind : {"requests", "limits"}) {
    const Value* item = json::findObject(resources, kind);
    Target target{component, kind, container, errors, recording, allocator};
    for (const std::string_view resource : {"cpu", "memory"}) {
      const std::string_view text = json::findText(item, resource);
      if (!text.empty()) target.put(resource, text, field::Members{resource}, kind);
    }
    if (kind == "limits") {
      const std::string_view type = gpuResource(resources);
      const std::string_view text = gpuText(resources);
      const Value* given = json::findObject(json::findObject(&container, "resources"), kind);
      // A request alone does not outrank the limit that mainContainer has.
      const bool requested = json::findText(item, "gpu").empty();
      const bool limited = requested && json::find(given, type) != nullptr;
      if (!text.empty() && !limited) target.put(type, text, "gpu", requested ? "requests" : kind);
    }
    if (const Value* custom = json::findObject(item, "custom")) {
      const field::At at = "custom";
      for (const auto& member : custom->GetObject()) {
        const std::string_view name = json::text(member.name);
        target.put(name, json::text(member.value), at.key(name), kind);
      }
    }
  }
  const Value* claims = json::find(*resources, "claims");
  if (claims == nullptr || !claims->IsArray() || claims->Empty()) return;
  Value& all = json::ensureList(json::ensureObject(container, "resources", allocator), "claims", allocator);
  for (rapidjson::SizeType i = 0; i < claims->Size(); ++i) {
    if (recording.origins != nullptr) {
      recording.origins->user((recording.at / "resources.claims")[all.Size()], (kResources / "claims")[i]);
    }
    all.PushBack(json::copy((*claims)[i], allocator), allocator);
  }
}

}  // namespace dynamo::render
