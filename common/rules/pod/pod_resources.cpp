// Resources at the level of the pod, which its containers share.

#include <fmt/format.h>

#include <algorithm>

#include "common/k8s/names.h"
#include "common/rules/pod/amounts.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

using Amounts = std::map<std::string_view, Amount>;

bool isShared(std::string_view name) {
  return name == "cpu" || name == "memory" || isHugepages(name);
}

std::string digitsOf(Amount amount) {
  constexpr int kBase = 10;
  std::string digits;
  for (; amount > 0; amount /= kBase)
    digits.push_back(static_cast<char>('0' + static_cast<int>(amount % kBase)));
  std::reverse(digits.begin(), digits.end());
  return digits.empty() ? "0" : digits;
}

/// A number of nano units as a quantity, in Mi when it is a multiple.
std::string shown(Amount amount) {
  constexpr Amount kMebi = Amount{1024} * 1024 * 1'000'000'000;
  if (amount > 0 && amount % kMebi == 0) return k8s::canonicalQuantity(digitsOf(amount / kMebi) + "Mi");
  return k8s::canonicalQuantity(digitsOf(amount) + "n");
}

Amounts amountsOf(const Value& container, std::string_view list) {
  Amounts found;
  const At nowhere;
  forEachMember(json::find(json::findObject(&container, "resources"), list), nowhere,
                [&](std::string_view name, const Value& value, const At&) {
                  if (const auto amount = amountOf(value)) found.try_emplace(name, *amount);
                });
  return found;
}

/// The requests of a container. A limit without a request is also the request.
Amounts requestsOf(const Value& container) {
  Amounts requests = amountsOf(container, "requests");
  requests.merge(amountsOf(container, "limits"));
  return requests;
}

Amounts limitsOf(const Value& container) {
  return amountsOf(container, "limits");
}

void raise(Amounts& most, std::string_view name, Amount amount) {
  Amount& known = most.try_emplace(name, amount).first->second;
  known = std::max(known, amount);
}

/// The most that all containers need at the same time. Init containers run one after another, next to the
/// sidecars before them.
Amounts total(const Value& podSpec, Amounts (*of)(const Value&)) {
  Amounts sum;
  Amounts sidecars;
  Amounts starting;
  const At nowhere;
  forEach(json::find(podSpec, "containers"), nowhere, [&](const Value& container, const At&) {
    for (const auto& [name, amount] : of(container)) sum[name] += amount;
  });
  forEach(json::find(podSpec, "initContainers"), nowhere, [&](const Value& container, const At&) {
    const bool sidecar = json::findText(&container, "restartPolicy") == "Always";
    for (const auto& [name, amount] : of(container)) {
      Amount& beside = sidecars[name];
      raise(starting, name, beside + amount);
      if (!sidecar) continue;
      beside += amount;
      sum[name] += amount;
    }
  });
  for (const auto& [name, amount] : starting) raise(sum, name, amount);
  return sum;
}

Entries sharedEntries(const Reports& report, const Value* list, const At& at) {
  Entries read = entries(report, list, at);
  std::erase_if(read, [&](const auto& item) {
    if (isShared(item.first)) return false;
    if (k8s::resourceNameProblem(item.first).empty()) {
      oneOf(report(id::kPodResources), at.key(item.first), item.first, {"cpu", "hugepages-<size>", "memory"});
    }
    return true;
  });
  return read;
}

struct Shared {
  Entries requests;
  Entries limits;
  Amounts requested;  ///< by all containers
  Amounts limited;    ///< of all containers
};

/// Reports requests of the containers that are more than the pod provides.
void requestsCovered(const Reports& report, const Shared& shared, const At& at) {
  const At requestsAt = at / "requests";
  const At limitsAt = at / "limits";
  for (const auto& [name, asked] : shared.requested) {
    const bool own = shared.requests.contains(name);
    const Entries& list = own ? shared.requests : shared.limits;
    const auto found = list.find(name);
    // A pod with limits but without a request gets the sum of the containers' requests.
    if (found == list.end() || !found->second || asked <= found->second->amount) continue;
    report(id::kPodResources)
        .invalid(
            (own ? requestsAt : limitsAt).key(name), found->second->text,
            fmt::format("must be greater than or equal to aggregate container requests of {}", shown(asked)));
  }
}

void limitsCovered(const Reports& report, const Shared& shared, const Value& podSpec, const At& at) {
  const At resourcesAt = at / "resources";
  const At limitsAt = resourcesAt / "limits";
  for (const auto& [name, asked] : shared.limited) {
    const auto found = shared.limits.find(name);
    if (!isHugepages(name) || found == shared.limits.end() || !found->second) continue;
    if (asked <= found->second->amount) continue;
    report(id::kPodResources)
        .invalid(
            limitsAt.key(name), found->second->text,
            fmt::format("must be greater than or equal to aggregate container limits of {}", shown(asked)));
  }
  forEach(json::find(podSpec, "containers"), at / "containers", [&](const Value& one, const At& place) {
    const At ownAt = place / "resources";
    const At ownLimits = ownAt / "limits";
    for (const auto& [name, limit] : limitsOf(one)) {
      const auto found = shared.limits.find(name);
      if (found == shared.limits.end() || !found->second || limit <= found->second->amount) continue;
      report(id::kPodResources)
          .invalid(ownLimits.key(name), shown(limit),
                   fmt::format("must be less than or equal to pod limits of {}", found->second->text));
    }
  });
}

}  // namespace

void podResources(const Reports& report, const Value& podSpec, const At& at, const PodFacts& facts) {
  const Value* resources = json::findObject(&podSpec, "resources");
  if (resources == nullptr || facts.os == "windows") return;
  const At resourcesAt = at / "resources";
  const At requestsAt = resourcesAt / "requests";
  const At limitsAt = resourcesAt / "limits";
  needsVersion(report, resourcesAt, "1.34");
  if (json::find(*resources, "claims") != nullptr) {
    report(id::kPodResources).forbidden(resourcesAt / "claims", "may only be set for containers");
  }
  Shared shared{sharedEntries(report, json::find(*resources, "requests"), requestsAt),
                sharedEntries(report, json::find(*resources, "limits"), limitsAt), total(podSpec, requestsOf),
                total(podSpec, limitsOf)};
  for (const auto& [name, request] : shared.requests) {
    if (request)
      checkRequestAgainstLimit(report, *request, shared.limits, requestsAt.key(name), limitsAt.key(name));
  }
  if (needsCpuOrMemory(shared.limits, shared.requests)) {
    report(id::kHugepages).required(resourcesAt, "huge pages require cpu or memory");
  }
  requestsCovered(report, shared, resourcesAt);
  limitsCovered(report, shared, podSpec, at);
}

}  // namespace dynamo::rules::pod
