// The `resources` block of services, whose quantities are texts (quirks pod-Q1, a1-Q11).

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/render/resources.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;
using Amount = decltype(k8s::Quantity::nano);

constexpr Amount kUnit = 1'000'000'000;
constexpr Amount kMilli = 1'000'000;
constexpr Amount kManyGpus = 1024;  // more than any node has
constexpr Amount kLittleMemory = kUnit * 4 * 1024 * 1024;
constexpr std::array<std::string_view, 2> kKinds = {"requests", "limits"};
constexpr std::string_view kHugepages = "hugepages-";

const Value* itemOf(const Service& service, std::string_view kind) {
  return json::findObject(json::findObject(&service.spec, "resources"), kind);
}

std::string itemPath(const Service& service, std::string_view kind, std::string_view field) {
  return service.at(fmt::format("resources.{}.{}", kind, field));
}

/// Requests of these equal their limits.
bool isFixed(std::string_view name) {
  return !k8s::isNativeResource(name) || name.starts_with(kHugepages);
}

/// One quantity of the block: where it stands and which resource of the container it is.
struct Entry {
  std::string path;
  std::string_view resource;
  std::string_view text;
};

std::string_view gpuType(const Service& service) {
  return render::gpuResource(json::findObject(&service.spec, "resources"));
}

/// What becomes part of the container: empty texts do not (but in `custom` they are told), nor does a GPU
/// request beside a GPU limit.
std::vector<Entry> entries(const Service& service, std::string_view kind) {
  std::vector<Entry> all;
  const Value* item = itemOf(service, kind);
  const Value* limits = itemOf(service, "limits");
  for (const std::string_view field : {"cpu", "memory", "gpu"}) {
    const std::string_view text = json::findText(item, field);
    const bool gpu = field == "gpu";
    const bool shadowed = gpu && kind == "requests" && !json::findText(limits, "gpu").empty();
    if (text.empty() || shadowed) continue;
    all.push_back({itemPath(service, kind, field), gpu ? gpuType(service) : field, text});
  }
  forEachMember(json::findObject(item, "custom"), [&](std::string_view name, const Value& value) {
    if (value.IsString()) {
      all.push_back({itemPath(service, kind, fmt::format("custom[{}]", name)), name, json::text(value)});
    }
  });
  return all;
}

template <typename Each>
void forEachEntry(const Service& service, Each each) {
  for (const std::string_view kind : kKinds) {
    for (const Entry& entry : entries(service, kind)) each(entry);
  }
}

void quantities(const Service& service, const Report& report) {
  forEachEntry(service, [&](const Entry& entry) {
    const std::string problem = k8s::quantityProblem(entry.text);
    const auto quantity = problem.empty() ? k8s::parseQuantity(entry.text) : std::nullopt;
    if (!quantity) return report.invalid(entry.path, entry.text, problem);
    if (quantity->nano < 0) {
      report.invalid(entry.path, entry.text, "must be greater than or equal to 0");
    } else if (isFixed(entry.resource) && quantity->nano % kUnit != 0) {
      report.invalid(entry.path, entry.text, "must be an integer");
    }
  });
}

void resourceNames(const Service& service, const Report& report) {
  for (const std::string_view kind : kKinds) {
    forEachMember(json::findObject(itemOf(service, kind), "custom"),
                  [&](std::string_view name, const Value&) {
                    report.check(itemPath(service, kind, fmt::format("custom[{}]", name)), name,
                                 k8s::resourceNameProblem(name));
                  });
  }
  const Value* limits = itemOf(service, "limits");
  const Value* requests = itemOf(service, "requests");
  if (json::findText(limits, "gpu").empty() && json::findText(requests, "gpu").empty()) return;
  const bool requested = json::findText(limits, "gpuType") != gpuType(service) &&
                         json::findText(requests, "gpuType") == gpuType(service);
  report.check(itemPath(service, requested ? "requests" : "limits", "gpuType"), gpuType(service),
               k8s::resourceNameProblem(gpuType(service)));
}

using Amounts = std::map<std::string_view, std::pair<Amount, std::string>>;

/// Requests or limits of the main container: mainContainer's under the block's. Only what parses.
Amounts amounts(const Service& service, std::string_view kind) {
  Amounts all;
  const auto add = [&](std::string_view name, std::string_view text) {
    if (const auto quantity = k8s::parseQuantity(text)) all[name] = {quantity->nano, std::string{text}};
  };
  const Value* given = json::findObject(json::findObject(service.mainContainer(), "resources"), kind);
  forEachMember(given, [&](std::string_view name, const Value& value) {
    if (const auto text = k8s::quantityText(value)) add(name, *text);
  });
  for (const Entry& entry : entries(service, kind)) add(entry.resource, entry.text);
  return all;
}

void requestsWithinLimits(const Service& service, const Report& report) {
  const Amounts limits = amounts(service, "limits");
  const Value* given = itemOf(service, "limits");
  for (const Entry& entry : entries(service, "requests")) {
    // A GPU request alone is the limit, too (quirk pod-Q1).
    if (entry.path.ends_with(".gpu")) continue;
    const auto request = k8s::parseQuantity(entry.text);
    const auto limit = limits.find(entry.resource);
    if (!request || !k8s::quantityProblem(entry.text).empty()) continue;
    if (limit == limits.end()) {
      // A limit that is there but unreadable has its own error.
      const bool unreadable = json::find(json::findObject(given, "custom"), entry.resource) != nullptr;
      if (!isFixed(entry.resource) || unreadable) continue;
      report.required(itemPath(service, "limits", fmt::format("custom[{}]", entry.resource)),
                      "a limit equal to the request: this resource cannot be overcommitted");
      continue;
    }
    const auto& [amount, text] = limit->second;
    if (isFixed(entry.resource) && request->nano != amount) {
      report.invalid(entry.path, entry.text, fmt::format("must equal the limit of {}", text));
    } else if (request->nano > amount) {
      report.invalid(entry.path, entry.text,
                     fmt::format("must be less than or equal to the limit of {}", text));
    }
  }
}

void hugepagesNeedMore(const Service& service, const Report& report) {
  for (const std::string_view kind : kKinds) {
    const Amounts all = amounts(service, kind);
    if (all.contains("cpu") || all.contains("memory")) return;
  }
  std::set<std::string_view> told;
  for (const std::string_view kind : {"limits", "requests"}) {
    for (const Entry& entry : entries(service, kind)) {
      if (!entry.resource.starts_with(kHugepages) || !told.insert(entry.resource).second) continue;
      report.forbidden(entry.path, "needs cpu or memory beside it");
    }
  }
}

void claims(const Service& service, const Report& report) {
  std::set<std::string> seen;
  const auto keyOf = [](const Value& claim) {
    const std::string_view request = json::findText(&claim, "request");
    return std::string{json::findText(&claim, "name")} + (request.empty() ? "" : "/") + std::string{request};
  };
  forEachObject(json::find(json::findObject(service.mainContainer(), "resources"), "claims"),
                [&](const Value& claim, std::size_t) { seen.insert(keyOf(claim)); });
  std::set<std::string_view> known;
  forEachObject(json::find(service.podSpec(), "resourceClaims"),
                [&](const Value& claim, std::size_t) { known.insert(json::findText(&claim, "name")); });
  forEachObject(json::find(json::findObject(&service.spec, "resources"), "claims"),
                [&](const Value& claim, std::size_t i) {
                  const std::string field = service.at(fmt::format("resources.claims[{}].name", i));
                  const std::string_view name = json::findText(&claim, "name");
                  if (name.empty()) return report.required(field, "the name of a claim");
                  if (!seen.insert(keyOf(claim)).second) report.duplicate(field, keyOf(claim));
                  if (!known.contains(name)) {
                    report.notFound(field, name, "no such claim in extraPodSpec.resourceClaims");
                  }
                });
}

// What is doubtful

bool sameAmount(std::string_view a, std::string_view b) {
  const auto first = k8s::parseQuantity(a);
  const auto second = k8s::parseQuantity(b);
  return first && second && *first == *second;
}

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
                fmt::format("is not used: pods get {}, which differs",
                            limit.empty() ? "the limit in mainContainer.resources" : "limits.gpu"));
  }
  const std::string_view type = json::findText(requests, "gpuType");
  if (!type.empty() && type != gpuType(service)) {
    report.warn(itemPath(service, "requests", "gpuType"), "is not used: pods get limits.gpuType");
  }
}

void oddAmounts(const Service& service, const Report& report) {
  forEachEntry(service, [&](const Entry& entry) {
    const auto quantity = k8s::parseQuantity(entry.text);
    if (!quantity) return;
    if (entry.resource == "cpu" && quantity->nano % kMilli != 0) {
      report.warn(entry.path, "is finer than 1m and will be rounded up");
    }
    if (entry.resource != "memory") return;
    if (entry.text.ends_with('m')) {
      report.warn(entry.path,
                  fmt::format("{} means thousandths of a byte: is M or Mi meant?", showValue(entry.text)));
    } else if (quantity->nano > 0 && quantity->nano < kLittleMemory) {
      report.warn(entry.path,
                  fmt::format("{} is less than 4Mi: is a suffix missing?", showValue(entry.text)));
    }
  });
}

void oddGpus(const Service& service, const Report& report) {
  forEachEntry(service, [&](const Entry& entry) {
    if (!entry.path.ends_with(".gpu")) return;
    const auto quantity = k8s::parseQuantity(entry.text);
    if (quantity && quantity->nano / kUnit > kManyGpus) {
      report.warn(entry.path, fmt::format("{} is a count of GPUs, not their memory", showValue(entry.text)));
    }
  });
  for (const std::string_view kind : kKinds) {
    const Value* item = itemOf(service, kind);
    const std::string_view type = gpuType(service);
    const Value* custom = json::find(json::findObject(item, "custom"), type);
    const std::string_view gpus = json::findText(item, "gpu");
    if (custom == nullptr || gpus.empty() || json::text(*custom) == gpus) continue;
    report.warn(itemPath(service, kind, fmt::format("custom[{}]", type)),
                fmt::format("differs from {}.gpu: give only one of them", kind));
  }
}

void emptyAmounts(const Service& service, const Report& report) {
  for (const std::string_view kind : kKinds) {
    for (const std::string_view field : {"cpu", "memory", "gpu"}) {
      const Value* value = json::find(itemOf(service, kind), field);
      if (value == nullptr || !json::text(*value).empty() || !value->IsString()) continue;
      report.warn(itemPath(service, kind, field), "is empty: the same as leaving it out");
    }
  }
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.quantity", Severity::Error,
                  "amounts are quantities, not negative, whole for GPUs and other devices"},
                 quantities},
    ServiceCheck{
        {"service.resource-name", Severity::Error, "custom resources and GPU types are names of resources"},
        resourceNames},
    ServiceCheck{{"service.request-limit", Severity::Error,
                  "requests are within limits, and equal to them for devices and huge pages"},
                 requestsWithinLimits},
    ServiceCheck{{"service.hugepages", Severity::Error, "huge pages need cpu or memory beside them"},
                 hugepagesNeedMore},
    ServiceCheck{
        {"service.resource-claim", Severity::Error, "claims are in extraPodSpec.resourceClaims, each once"},
        claims},
    ServiceCheck{{"service.gpu-request", Severity::Warning, "pods get limits.gpu, not requests.gpu"},
                 gpuRequest},
    ServiceCheck{
        {"service.amount-odd", Severity::Warning, "amounts of cpu and memory that are probably mistyped"},
        oddAmounts},
    ServiceCheck{{"service.gpu-odd", Severity::Warning, "GPUs are counted, in one place"}, oddGpus},
    ServiceCheck{{"service.amount-empty", Severity::Warning, "an amount that is given is not empty"},
                 emptyAmounts},
};

}  // namespace

std::span<const ServiceCheck> serviceResourceChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
