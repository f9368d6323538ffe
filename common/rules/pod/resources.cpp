// Requests, limits and claims of containers.

#include <fmt/format.h>

#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/rules/pod/amounts.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr Amount kUnit = 1'000'000'000;
constexpr Amount kMilli = 1'000'000;
constexpr Amount kLittleMemory = Amount{4} * 1024 * 1024 * kUnit;
constexpr std::string_view kHugepagesPrefix = "hugepages-";

/// Requests of these may be lower than their limits.
bool mayOvercommit(std::string_view name) {
  return k8s::isNativeResource(name) && !isHugepages(name);
}

Amount roundedUp(Amount value, Amount step) {
  const Amount rest = value % step;
  if (rest == 0) return value;
  return value - rest + (value > 0 ? step : -step);
}

void hugepages(const Report& report, const Entry& entry, const At& at) {
  const auto size = k8s::parseQuantity(entry.name.substr(kHugepagesPrefix.size()));
  const bool good =
      size && size->nano > 0 && size->nano % kUnit == 0 && roundedUp(entry.amount, kUnit) % size->nano == 0;
  if (good) return;
  report.invalid(at, entry.text, "must be a multiple of the page size in the resource's name",
                 id::kHugepages);
}

void doubts(const Report& report, const Entry& entry, Amount exact, const At& at) {
  if (entry.name == "cpu" && exact % kMilli != 0) {
    report.warn(at, "is finer than 1m and will be rounded up", id::kResourceOdd);
  }
  if (entry.name != "memory") return;
  if (entry.text.ends_with('m')) {
    report.warn(at, fmt::format("{} is in thousandths of a byte: M or Mi?", field::showValue(entry.text)),
                id::kResourceOdd);
  } else if (exact > 0 && exact < kLittleMemory) {
    report.warn(at, fmt::format("{} is less than 4Mi: a suffix forgotten?", field::showValue(entry.text)),
                id::kResourceOdd);
  }
}

std::optional<Entry> entry(const Report& report, std::string_view name, const Value& value, const At& at) {
  report.check(at, name, k8s::resourceNameProblem(name), id::kResourceName);
  if (name.find('/') != std::string_view::npos && k8s::isNativeResource(name)) {
    report.warn(at, "names in kubernetes.io are reserved; no device plugin offers this",
                id::kResourceReserved);
  }
  const auto text = k8s::quantityText(value);
  if (!text) return std::nullopt;
  const std::string problem = k8s::quantityProblem(*text);
  report.check(at, *text, problem, id::kQuantity);
  const auto quantity = problem.empty() ? k8s::parseQuantity(*text) : std::nullopt;
  if (!quantity) return std::nullopt;
  Entry read{name, *text, roundedUp(quantity->nano, kMilli)};
  if (read.amount < 0) {
    report.invalid(at, *text, "must be greater than or equal to 0", id::kResourceNegative);
  } else if (!k8s::isNativeResource(name) && read.amount % kUnit != 0) {
    report.invalid(at, *text, "must be an integer", id::kResourceWhole);
  }
  if (isHugepages(name)) hugepages(report, read, at);
  doubts(report, read, quantity->nano, at);
  return read;
}

}  // namespace

bool isHugepages(std::string_view name) {
  return name.starts_with(kHugepagesPrefix);
}

std::optional<Amount> amountOf(const Value& value) {
  const auto text = k8s::quantityText(value);
  if (!text || !k8s::quantityProblem(*text).empty()) return std::nullopt;
  const auto quantity = k8s::parseQuantity(*text);
  return quantity ? std::optional{roundedUp(quantity->nano, kMilli)} : std::nullopt;
}

Entries entries(const Report& report, const Value* list, const At& at) {
  Entries read;
  forEachMember(list, at, [&](std::string_view name, const Value& value, const At& place) {
    read.try_emplace(name, entry(report, name, value, place));
  });
  return read;
}

void compare(const Report& report, const Entry& request, const Entries& limits, const At& requestAt,
             const At& limitAt) {
  const auto found = limits.find(request.name);
  if (found == limits.end()) {
    if (mayOvercommit(request.name)) return;
    return report.required(limitAt, id::kResourceLimit,
                           "a limit equal to the request: this resource cannot be overcommitted");
  }
  const std::optional<Entry>& limit = found->second;
  if (!limit) return;
  if (!mayOvercommit(request.name) && request.amount != limit->amount) {
    report.invalid(requestAt, request.text, fmt::format("must equal the limit of {}", limit->text),
                   id::kResourceLimit);
  } else if (request.amount > limit->amount) {
    report.invalid(requestAt, request.text,
                   fmt::format("must be less than or equal to the limit of {}", limit->text),
                   id::kResourceLimit);
  }
}

bool needsCpuOrMemory(const Entries& limits, const Entries& requests) {
  bool huge = false;
  bool basic = false;
  for (const Entries* list : {&limits, &requests}) {
    for (const auto& [name, entry] : *list) huge = huge || isHugepages(name);
    basic = basic || list->contains("cpu") || list->contains("memory");
  }
  return huge && !basic;
}

namespace {

void claims(const Report& report, const Value* list, const At& at, const PodFacts& facts) {
  Seen<std::string> seen;
  Seen<std::string> claimed;
  forEach(list, at, [&](const Value& claim, const At& place) {
    const std::string name{json::findText(&claim, "name")};
    if (name.empty()) return report.required(place / "name", id::kResourceClaim);
    const std::string_view request = json::findText(&claim, "request");
    if (!request.empty()) {
      report.check(place / "request", request, k8s::dns1123LabelProblem(request), id::kResourceClaim);
    }
    // A claim as a whole includes each of its requests.
    const std::string key = request.empty() ? name : name + "/" + std::string{request};
    const bool whole = seen.contains(name);
    const bool again = !claimed.add(name);
    const bool overlaps = request.empty() && again;
    if (whole || overlaps || !seen.add(key)) {
      report.duplicate(place / "name", whole || overlaps ? name : key, id::kResourceClaim);
    }
    if (facts.claims.contains(name)) return;
    report.notFound(place / "name", name, "must be one of the pod's resourceClaims", id::kResourceClaim);
  });
}

}  // namespace

void resources(const Report& report, const Value* resources, const At& at, const PodFacts& facts) {
  if (resources == nullptr || !resources->IsObject()) return;
  const At requestsAt = at / "requests";
  const At limitsAt = at / "limits";
  const Entries limits = entries(report, json::find(*resources, "limits"), limitsAt);
  const Entries requests = entries(report, json::find(*resources, "requests"), requestsAt);
  for (const auto& [name, request] : requests) {
    if (request) compare(report, *request, limits, requestsAt.key(name), limitsAt.key(name));
  }
  if (needsCpuOrMemory(limits, requests)) {
    report.required(at, id::kHugepages, "huge pages need cpu or memory beside them");
  }
  claims(report, json::find(*resources, "claims"), at / "claims", facts);
}

void overhead(const Report& report, const Value* list, const At& at) {
  if (list == nullptr) return;
  report.warn(at, "is set by the RuntimeClass; pods with another value are refused", id::kOverhead);
  if (needsCpuOrMemory(entries(report, list, at), {})) {
    report.required(at, id::kHugepages, "huge pages need cpu or memory beside them");
  }
}

}  // namespace dynamo::rules::pod
