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

/// Whether requests of the resource may be lower than its limits.
bool mayOvercommit(std::string_view name) {
  return k8s::isNativeResource(name) && !isHugepages(name);
}

Amount roundedUp(Amount value, Amount step) {
  const Amount rest = value % step;
  if (rest == 0) return value;
  return value - rest + (value > 0 ? step : -step);
}

void hugepages(const Reports& report, const Entry& entry, const At& at) {
  const auto size = k8s::parseQuantity(entry.name.substr(kHugepagesPrefix.size()));
  const bool good =
      size && size->nano > 0 && size->nano % kUnit == 0 && roundedUp(entry.amount, kUnit) % size->nano == 0;
  if (good) return;
  report(id::kHugepages)
      .invalid(at, entry.text, "must be a multiple of the page size in the resource's name");
}

void warnUnlikelyAmount(const Reports& report, const Entry& entry, Amount exact, const At& at) {
  if (entry.name == "cpu" && exact % kMilli != 0) {
    report(id::kResourceOdd).warn(at, "is finer than 1m and will be rounded up");
  }
  if (entry.name == "cpu") {
    if (std::string problem = k8s::unlikelyCpus(entry.text); !problem.empty())
      report(id::kResourceOdd).warn(at, std::move(problem));
  }
  if (entry.name != "memory") return;
  if (entry.text.ends_with('m')) {
    report(id::kResourceOdd)
        .warn(at, fmt::format("{} is in thousandths of a byte: did you mean M or Mi?",
                              field::showValue(entry.text)));
  } else if (exact > 0 && exact < kLittleMemory) {
    report(id::kResourceOdd)
        .warn(at, fmt::format("{} is less than 4Mi: is a suffix missing?", field::showValue(entry.text)));
  }
}

std::optional<Entry> entry(const Reports& report, std::string_view name, const Value& value, const At& at) {
  report(id::kResourceName).check(at, name, k8s::resourceNameProblem(name));
  if (name.find('/') != std::string_view::npos && k8s::isNativeResource(name)) {
    report(id::kResourceReserved)
        .warn(at, "names in kubernetes.io are reserved; no device plugin offers this");
  }
  const auto text = k8s::quantityText(value);
  if (!text) return std::nullopt;
  const std::string problem = k8s::quantityProblem(*text);
  report(id::kQuantity).check(at, *text, problem);
  const auto quantity = problem.empty() ? k8s::parseQuantity(*text) : std::nullopt;
  if (!quantity) return std::nullopt;
  Entry read{name, *text, roundedUp(quantity->nano, kMilli)};
  if (read.amount < 0) {
    report(id::kResourceNegative).invalid(at, *text, "must be greater than or equal to 0");
  } else if (!k8s::isNativeResource(name) && read.amount % kUnit != 0) {
    report(id::kResourceWhole).invalid(at, *text, "must be an integer");
  }
  if (isHugepages(name)) hugepages(report, read, at);
  warnUnlikelyAmount(report, read, quantity->nano, at);
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

Entries entries(const Reports& report, const Value* list, const At& at) {
  Entries read;
  forEachMember(list, at, [&](std::string_view name, const Value& value, const At& place) {
    read.try_emplace(name, entry(report, name, value, place));
  });
  return read;
}

void checkRequestAgainstLimit(const Reports& report, const Entry& request, const Entries& limits,
                              const At& requestAt, const At& limitAt) {
  const auto found = limits.find(request.name);
  if (found == limits.end()) {
    if (mayOvercommit(request.name)) return;
    return report(id::kResourceLimit)
        .required(limitAt, "must equal the request because this resource cannot be overcommitted");
  }
  const std::optional<Entry>& limit = found->second;
  if (!limit) return;
  if (!mayOvercommit(request.name) && request.amount != limit->amount) {
    report(id::kResourceLimit)
        .invalid(requestAt, request.text, fmt::format("must equal the limit of {}", limit->text));
  } else if (request.amount > limit->amount) {
    report(id::kResourceLimit)
        .invalid(requestAt, request.text,
                 fmt::format("must be less than or equal to the limit of {}", limit->text));
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

void claims(const Reports& report, const Value* list, const At& at, const PodFacts& facts) {
  Seen<std::string> seen;
  Seen<std::string> claimed;
  forEach(list, at, [&](const Value& claim, const At& place) {
    const std::string name{json::findText(&claim, "name")};
    if (name.empty()) return report(id::kResourceClaim).required(place / "name");
    const std::string_view request = json::findText(&claim, "request");
    if (!request.empty()) {
      report(id::kResourceClaim).check(place / "request", request, k8s::dns1123LabelProblem(request));
    }
    // A claim as a whole includes each of its requests.
    const std::string key = request.empty() ? name : name + "/" + std::string{request};
    const bool whole = seen.contains(name);
    const bool again = !claimed.add(name);
    const bool overlaps = request.empty() && again;
    if (whole || overlaps || !seen.add(key)) {
      report(id::kResourceClaim).duplicate(place / "name", whole || overlaps ? name : key);
    }
    if (facts.claims.contains(name)) return;
    report(id::kResourceClaim).notFound(place / "name", name, "must be one of the pod's resourceClaims");
  });
}

}  // namespace

void resources(const Reports& report, const Value* resources, const At& at, const PodFacts& facts) {
  if (resources == nullptr || !resources->IsObject()) return;
  const At requestsAt = at / "requests";
  const At limitsAt = at / "limits";
  const Entries limits = entries(report, json::find(*resources, "limits"), limitsAt);
  const Entries requests = entries(report, json::find(*resources, "requests"), requestsAt);
  for (const auto& [name, request] : requests) {
    if (request) checkRequestAgainstLimit(report, *request, limits, requestsAt.key(name), limitsAt.key(name));
  }
  if (needsCpuOrMemory(limits, requests)) {
    report(id::kHugepages).required(at, "huge pages require cpu or memory");
  }
  claims(report, json::find(*resources, "claims"), at / "claims", facts);
}

void overhead(const Reports& report, const Value* list, const At& at) {
  if (list == nullptr) return;
  report(id::kOverhead).warn(at, "is set by the RuntimeClass; pods with another value are refused");
  if (needsCpuOrMemory(entries(report, list, at), {})) {
    report(id::kHugepages).required(at, "huge pages require cpu or memory");
  }
}

}  // namespace dynamo::rules::pod
