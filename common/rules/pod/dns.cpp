// Name resolution in the pod.

#include <fmt/format.h>

#include <algorithm>

#include "common/k8s/names.h"
#include "common/rules/pod/parts.h"
#include "common/rules/pod/rules.h"

namespace dynamo::rules::pod {
namespace {

using json::Value;

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;
constexpr std::size_t kMaxSearchBytes = 2048;

/// Underscores are common in search domains and allowed there.
std::string searchProblem(std::string_view search) {
  if (search == ".") return {};
  if (search.ends_with('.')) search.remove_suffix(1);
  std::string plain{search};
  std::replace(plain.begin(), plain.end(), '_', 'a');
  return k8s::dns1123SubdomainProblem(plain);
}

void nameservers(const Reports& report, const Value* list, const At& at) {
  std::size_t count = 0;
  forEachText(list, at, [&](std::string_view server, const At& place) {
    ++count;
    if (!k8s::isIpAddress(server)) report(id::kDns).invalid(place, server, "must be an IP address");
  });
  if (count > kMaxNameservers) {
    report(id::kDns).refused(at, fmt::format("must not have more than {} nameservers", kMaxNameservers));
  }
}

void searches(const Reports& report, const Value* list, const At& at) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  forEachText(list, at, [&](std::string_view search, const At& place) {
    bytes += search.size() + (count++ == 0 ? 0 : 1);
    report(id::kDns).check(place, search, searchProblem(search));
  });
  if (count > kMaxSearches) {
    report(id::kDns).refused(at, fmt::format("must not have more than {} search paths", kMaxSearches));
  }
  if (bytes > kMaxSearchBytes) {
    report(id::kDns).refused(
        at, fmt::format("must not be longer than {} bytes, including spaces", kMaxSearchBytes));
  }
}

}  // namespace

void dns(const Reports& report, const Value& podSpec, const At& at) {
  const std::string_view policy = json::findText(&podSpec, "dnsPolicy");
  oneOf(report(id::kEnum), at / "dnsPolicy", policy,
        {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"});
  const Value* config = json::findObject(&podSpec, "dnsConfig");
  const Value* servers = json::find(config, "nameservers");
  const At configAt = at / "dnsConfig";
  if (policy == "None" && (servers == nullptr || (servers->IsArray() && servers->Empty()))) {
    report(id::kDns).required(configAt / "nameservers",
                              "must provide at least one DNS nameserver when dnsPolicy is None");
  }
  nameservers(report, servers, configAt / "nameservers");
  searches(report, json::find(config, "searches"), configAt / "searches");
  forEach(json::find(config, "options"), configAt / "options", [&](const Value& option, const At& place) {
    if (json::findText(&option, "name").empty()) report(id::kDns).required(place / "name");
  });
}

void hostAliases(const Reports& report, const Value* list, const At& at) {
  forEach(list, at, [&](const Value& alias, const At& place) {
    const std::string_view ip = json::findText(&alias, "ip");
    if (ip.empty()) {
      report(id::kHostAlias).required(place / "ip");
    } else if (!k8s::isIpAddress(ip)) {
      report(id::kHostAlias).invalid(place / "ip", ip, "must be an IP address");
    }
    const At names = place / "hostnames";
    forEachText(json::find(alias, "hostnames"), names, [&](std::string_view name, const At& nameAt) {
      report(id::kHostAlias).check(nameAt, name, k8s::dns1123SubdomainProblem(name));
    });
  });
}

}  // namespace dynamo::rules::pod
