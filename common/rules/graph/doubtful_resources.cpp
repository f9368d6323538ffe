// Warnings about probable mistakes in the `resources` block of services (quirk pod-Q1).

#include <fmt/format.h>

#include "common/k8s/quantity.h"
#include "common/rules/graph/resource_entries.h"

namespace dynamo::rules {
namespace {

using json::Value;
using Amount = decltype(k8s::Quantity::nano);

constexpr Amount kUnit = 1'000'000'000;
constexpr Amount kMilli = 1'000'000;
constexpr Amount kManyGpus = 1024;  // more than any node has
constexpr Amount kLittleMemory = kUnit * 4 * 1024 * 1024;

bool sameAmount(std::string_view a, std::string_view b) {
  const auto first = k8s::parseQuantity(a);
  const auto second = k8s::parseQuantity(b);
  return first && second && *first == *second;
}

}  // namespace

void gpuRequest(const Service& service, const Report& report) {
  const Value* requests = itemOf(service, "requests");
  const Value* limits = itemOf(service, "limits");
  const std::string_view asked = json::findText(requests, "gpu");
  const std::string_view limit = json::findText(limits, "gpu");
  const Value* own = json::findObject(json::findObject(service.mainContainer(), "resources"), "limits");
  const Value* ownLimit = json::find(own, gpuType(service));
  const bool differs =
      !limit.empty() ? !sameAmount(asked, limit)
                     : ownLimit != nullptr && !sameAmount(asked, k8s::quantityText(*ownLimit).value_or(""));
  if (!asked.empty() && differs) {
    report.warn(itemPath(service, "requests", "gpu"),
                fmt::format("differs from {}, which pods get instead",
                            limit.empty() ? "the limit in mainContainer.resources" : "limits.gpu"));
  }
  const std::string_view type = json::findText(requests, "gpuType");
  if (!type.empty() && type != gpuType(service)) {
    report.warn(itemPath(service, "requests", "gpuType"), "has no effect because pods get limits.gpuType");
  }
}

void unlikelyAmounts(const Service& service, const Report& report) {
  forEachEntry(service, [&](const ResourceEntry& entry) {
    const auto quantity = k8s::parseQuantity(entry.text);
    if (!quantity) return;
    if (entry.resource == "cpu" && quantity->nano % kMilli != 0) {
      report.warn(entry.path(), "is finer than 1m and will be rounded up");
    }
    if (entry.resource == "cpu") {
      if (std::string problem = k8s::unlikelyCpus(entry.text); !problem.empty())
        report.warn(entry.path(), std::move(problem));
    }
    if (entry.resource != "memory") return;
    if (entry.text.ends_with('m')) {
      report.warn(entry.path(), fmt::format("{} is in thousandths of a byte: did you mean M or Mi?",
                                            showValue(entry.text)));
    } else if (quantity->nano > 0 && quantity->nano < kLittleMemory) {
      report.warn(entry.path(),
                  fmt::format("{} is less than 4Mi: is a suffix missing?", showValue(entry.text)));
    }
  });
}

void unlikelyGpus(const Service& service, const Report& report) {
  forEachEntry(service, [&](const ResourceEntry& entry) {
    if (!entry.isGpu()) return;
    const auto quantity = k8s::parseQuantity(entry.text);
    if (quantity && quantity->nano / kUnit > kManyGpus) {
      report.warn(entry.path(),
                  fmt::format("{} is a count of GPUs, not their memory", showValue(entry.text)));
    }
  });
  for (const std::string_view kind : kResourceKinds) {
    const Value* item = itemOf(service, kind);
    const std::string_view type = gpuType(service);
    const Value* custom = json::find(json::findObject(item, "custom"), type);
    const std::string_view gpus = json::findText(item, "gpu");
    if (custom == nullptr || gpus.empty() || json::text(*custom) == gpus) continue;
    report.warn(customPath(service, kind, type),
                fmt::format("differs from {}.gpu: set only one of them", kind));
  }
}

void emptyAmounts(const Service& service, const Report& report) {
  for (const std::string_view kind : kResourceKinds) {
    for (const std::string_view field : {"cpu", "memory", "gpu"}) {
      const Value* value = json::find(itemOf(service, kind), field);
      if (value == nullptr || !json::text(*value).empty() || !value->IsString()) continue;
      report.warn(itemPath(service, kind, field), "has no effect because it is empty");
    }
  }
}

}  // namespace dynamo::rules
