// The `resources` block of services, whose quantities are strings (quirks pod-Q1, a1-Q11).

#include <fmt/format.h>

#include <array>
#include <map>
#include <set>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/graph/resource_entries.h"

namespace dynamo::rules {
namespace {

using json::Value;
using Amount = decltype(k8s::Quantity::nano);

constexpr Amount kUnit = 1'000'000'000;
constexpr std::string_view kHugepages = "hugepages-";

/// Whether requests of the resource must equal its limits.
bool isNotOvercommittable(std::string_view name) {
  return !k8s::isNativeResource(name) || name.starts_with(kHugepages);
}

void quantities(const Service& service, const Report& report) {
  forEachEntry(service, [&](const ResourceEntry& entry) {
    const std::string problem = k8s::quantityProblem(entry.text);
    const auto quantity = problem.empty() ? k8s::parseQuantity(entry.text) : std::nullopt;
    if (!quantity) return report.invalid(entry.path(), entry.text, problem);
    if (quantity->nano < 0) {
      report.invalid(entry.path(), entry.text, "must be greater than or equal to 0");
    } else if (isNotOvercommittable(entry.resource) && quantity->nano % kUnit != 0) {
      report.invalid(entry.path(), entry.text, "must be an integer");
    }
  });
}

void resourceNames(const Service& service, const Report& report) {
  for (const std::string_view kind : kResourceKinds) {
    forEachMember(json::findObject(itemOf(service, kind), "custom"),
                  [&](std::string_view name, const Value&) {
                    const std::string problem = k8s::resourceNameProblem(name);
                    if (!problem.empty()) report.invalid(customPath(service, kind, name), name, problem);
                  });
  }
  const Value* limits = itemOf(service, "limits");
  const Value* requests = itemOf(service, "requests");
  if (json::findText(limits, "gpu").empty() && json::findText(requests, "gpu").empty()) return;
  const bool requested = json::findText(limits, "gpuType") != gpuType(service) &&
                         json::findText(requests, "gpuType") == gpuType(service);
  const std::string problem = k8s::resourceNameProblem(gpuType(service));
  if (problem.empty()) return;
  report.invalid(itemPath(service, requested ? "requests" : "limits", "gpuType"), gpuType(service), problem);
}

using Amounts = std::map<std::string_view, std::pair<Amount, std::string>>;

/// Requests or limits of the main container. The block takes precedence over mainContainer. Amounts that do
/// not parse are skipped.
Amounts amounts(const Service& service, std::string_view kind) {
  Amounts all;
  const auto add = [&](std::string_view name, std::string_view text) {
    if (const auto quantity = k8s::parseQuantity(text)) all[name] = {quantity->nano, std::string{text}};
  };
  const Value* given = json::findObject(json::findObject(service.mainContainer(), "resources"), kind);
  forEachMember(given, [&](std::string_view name, const Value& value) {
    if (const auto text = k8s::quantityText(value)) add(name, *text);
  });
  forEachEntry(service, kind, [&](const ResourceEntry& entry) { add(entry.resource, entry.text); });
  return all;
}

void requestsWithinLimits(const Service& service, const Report& report) {
  const Amounts limits = amounts(service, "limits");
  const Value* given = itemOf(service, "limits");
  forEachEntry(service, "requests", [&](const ResourceEntry& entry) {
    // A GPU request without a limit becomes the limit, too (quirk pod-Q1).
    if (entry.isGpu()) return;
    const auto request = k8s::parseQuantity(entry.text);
    const auto limit = limits.find(entry.resource);
    if (!request || !k8s::quantityProblem(entry.text).empty()) return;
    if (limit == limits.end()) {
      // A limit that cannot be parsed has its own error.
      const bool unparsable = json::find(json::findObject(given, "custom"), entry.resource) != nullptr;
      if (!isNotOvercommittable(entry.resource) || unparsable) return;
      report.required(customPath(service, "limits", entry.resource),
                      "must equal the request because this resource cannot be overcommitted");
      return;
    }
    const auto& [amount, text] = limit->second;
    if (isNotOvercommittable(entry.resource) && request->nano != amount) {
      report.invalid(entry.path(), entry.text, fmt::format("must equal the limit of {}", text));
    } else if (request->nano > amount) {
      report.invalid(entry.path(), entry.text,
                     fmt::format("must be less than or equal to the limit of {}", text));
    }
  });
}

void hugepagesNeedCpuOrMemory(const Service& service, const Report& report) {
  for (const std::string_view kind : kResourceKinds) {
    const Amounts all = amounts(service, kind);
    if (all.contains("cpu") || all.contains("memory")) return;
  }
  std::set<std::string_view> reported;
  for (const std::string_view kind : {"limits", "requests"}) {
    forEachEntry(service, kind, [&](const ResourceEntry& entry) {
      if (!entry.resource.starts_with(kHugepages) || !reported.insert(entry.resource).second) return;
      report.forbidden(entry.path(), "huge pages require cpu or memory");
    });
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
  const At claimsAt = service.at("resources.claims");
  forEachObject(json::find(json::findObject(&service.spec, "resources"), "claims"),
                [&](const Value& claim, std::size_t i) {
                  const At place = claimsAt[i];
                  const At field = place / "name";
                  const std::string_view name = json::findText(&claim, "name");
                  if (name.empty()) return report.required(field, "must name a claim");
                  if (!seen.insert(keyOf(claim)).second) report.duplicate(field, keyOf(claim));
                  if (!known.contains(name)) {
                    report.notFound(field, name, "must be one of the names in extraPodSpec.resourceClaims");
                  }
                });
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.quantity", Severity::Error,
                  "amounts are quantities, not negative, whole for GPUs and other devices"},
                 quantities},
    ServiceCheck{{"service.resource-name", Severity::Error,
                  "custom resources and GPU types have valid names of resources"},
                 resourceNames},
    ServiceCheck{{"service.request-limit", Severity::Error,
                  "requests are within limits, and equal to them for devices and huge pages"},
                 requestsWithinLimits},
    ServiceCheck{{"service.hugepages", Severity::Error, "huge pages require cpu or memory"},
                 hugepagesNeedCpuOrMemory},
    ServiceCheck{{"service.resource-claim", Severity::Error,
                  "claims are listed in extraPodSpec.resourceClaims, each once"},
                 claims},
    ServiceCheck{{"service.gpu-request", Severity::Warning, "pods get limits.gpu, not requests.gpu"},
                 gpuRequest},
    ServiceCheck{
        {"service.amount-odd", Severity::Warning, "amounts of cpu and memory do not look like typing errors"},
        unlikelyAmounts},
    ServiceCheck{{"service.gpu-odd", Severity::Warning, "the number of GPUs is given in one place"},
                 unlikelyGpus},
    ServiceCheck{{"service.amount-empty", Severity::Warning, "an amount is not empty"}, emptyAmounts},
};

}  // namespace

std::span<const ServiceCheck> serviceResourceChecks() {
  return kChecks;
}

}  // namespace dynamo::rules
