// Name resolution in the pod (spec/k8s-pod-validation.md section 6).

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/k8s/names.h"
#include "common/podrules/parts.h"
#include "common/podrules/rules.h"

namespace dynamo::podrules {
namespace {

using json::Value;

constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearches = 32;
constexpr std::size_t kMaxSearchBytes = 2048;

/// Four numbers up to 255; unlike inet_pton(), leading zeros pass, as they do in old API fields.
bool isIpv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = std::min(text.find('.'), text.size());
    int value = 0;
    for (const char c : text.substr(0, end)) {
      if (c < '0' || c > '9' || value > 255) return false;
      value = value * 10 + (c - '0');
    }
    if (end == 0 || value > 255) return false;
    const bool last = part == 3;
    if (last) return end == text.size();
    if (end == text.size()) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

/// Underscores are common in search domains and allowed there.
std::string searchProblem(std::string_view search) {
  if (search == ".") return {};
  if (search.ends_with('.')) search.remove_suffix(1);
  std::string plain{search};
  std::replace(plain.begin(), plain.end(), '_', 'a');
  return k8s::dns1123SubdomainProblem(plain);
}

void nameservers(const Report& report, const Value* list, const At& at) {
  std::size_t count = 0;
  forEachText(list, at, [&](std::string_view server, const At& place) {
    ++count;
    if (!isIpAddress(server)) report.invalid(place, server, "must be an IP address", rule::kDns);
  });
  if (count > kMaxNameservers) {
    report.refused(at, fmt::format("must not have more than {} nameservers", kMaxNameservers), rule::kDns);
  }
}

void searches(const Report& report, const Value* list, const At& at) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  forEachText(list, at, [&](std::string_view search, const At& place) {
    bytes += search.size() + (count++ == 0 ? 0 : 1);
    report.check(place, search, searchProblem(search), rule::kDns);
  });
  if (count > kMaxSearches) {
    report.refused(at, fmt::format("must not have more than {} search paths", kMaxSearches), rule::kDns);
  }
  if (bytes > kMaxSearchBytes) {
    report.refused(at, fmt::format("must not be longer than {} bytes, spaces included", kMaxSearchBytes),
                   rule::kDns);
  }
}

}  // namespace

bool isIpAddress(std::string_view text) {
  in6_addr address{};
  return isIpv4(text) || inet_pton(AF_INET6, std::string{text}.c_str(), &address) == 1;
}

void dns(const Report& report, const Value& podSpec, const At& at) {
  const std::string_view policy = json::findText(&podSpec, "dnsPolicy");
  report.oneOf(at / "dnsPolicy", policy, {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
               rule::kEnum);
  const Value* config = json::findObject(&podSpec, "dnsConfig");
  const Value* servers = json::find(config, "nameservers");
  const At configAt = at / "dnsConfig";
  if (policy == "None" && (servers == nullptr || (servers->IsArray() && servers->Empty()))) {
    report.required(configAt / "nameservers", rule::kDns, "at least one nameserver, for dnsPolicy is None");
  }
  nameservers(report, servers, configAt / "nameservers");
  searches(report, json::find(config, "searches"), configAt / "searches");
  forEach(json::find(config, "options"), configAt / "options", [&](const Value& option, const At& place) {
    if (json::findText(&option, "name").empty()) report.required(place / "name", rule::kDns);
  });
}

void hostAliases(const Report& report, const Value* list, const At& at) {
  forEach(list, at, [&](const Value& alias, const At& place) {
    const std::string_view ip = json::findText(&alias, "ip");
    if (ip.empty()) {
      report.required(place / "ip", rule::kHostAlias);
    } else if (!isIpAddress(ip)) {
      report.invalid(place / "ip", ip, "must be an IP address", rule::kHostAlias);
    }
    const At names = place / "hostnames";
    forEachText(json::find(alias, "hostnames"), names, [&](std::string_view name, const At& nameAt) {
      report.check(nameAt, name, k8s::dns1123SubdomainProblem(name), rule::kHostAlias);
    });
  });
}

}  // namespace dynamo::podrules
