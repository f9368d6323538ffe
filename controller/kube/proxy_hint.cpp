#include "controller/kube/proxy_hint.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "common/k8s/names.h"

namespace dynamo::kube {
namespace {

/// Returns the bytes of an IP address in the order of the network, or an empty text.
std::string addressOf(std::string_view text) {
  std::array<char, sizeof(in6_addr)> bytes{};
  const std::string name{text};
  if (inet_pton(AF_INET, name.c_str(), bytes.data()) == 1) return {bytes.data(), sizeof(in_addr)};
  if (inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1) return {bytes.data(), sizeof(in6_addr)};
  return {};
}

bool isLoopback(std::string_view host) {
  const std::string address = addressOf(host);
  return host == "localhost" || address == addressOf("::1") || (address.size() == 4 && address[0] == 127);
}

/// `range` is ADDRESS/BITS.
bool isInRange(const std::string& address, std::string_view range) {
  const std::size_t slash = range.find('/');
  const std::string base = addressOf(range.substr(0, slash));
  const std::string_view digits = range.substr(slash + 1);
  std::size_t bits = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  if (error != std::errc{} || stop != digits.data() + digits.size()) return false;
  if (base.empty() || base.size() != address.size() || bits > 8 * base.size()) return false;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const auto difference = static_cast<unsigned char>(base[bit / 8] ^ address[bit / 8]);
    if (((difference << (bit % 8)) & 0x80) != 0) return false;
  }
  return true;
}

/// `pattern` is an entry of NO_PROXY in lower case.
bool matches(std::string_view pattern, const std::string& host, std::uint16_t port) {
  if (pattern == "*") return true;
  const std::string address = addressOf(host);
  if (pattern.find('/') != std::string_view::npos) return isInRange(address, pattern);
  // A port follows a name, an IPv4 address or an IPv6 address in brackets.
  const std::size_t colon = pattern.rfind(':');
  const bool ported = colon != std::string_view::npos &&
                      (pattern.find(':') == colon || (colon > 0 && pattern[colon - 1] == ']'));
  if (ported) {
    if (pattern.substr(colon + 1) != std::to_string(port)) return false;
    pattern = pattern.substr(0, colon);
  }
  if (pattern.starts_with('[') && pattern.ends_with(']')) pattern = pattern.substr(1, pattern.size() - 2);
  if (const std::string own = addressOf(pattern); !own.empty()) return own == address;
  if (pattern.starts_with("*.")) pattern.remove_prefix(1);
  if (pattern.empty()) return false;
  return pattern.front() == '.' ? host.ends_with(pattern)
                                : host == pattern || host.ends_with("." + std::string{pattern});
}

bool isExcluded(std::string_view patterns, const std::string& host, std::uint16_t port) {
  constexpr std::string_view kBlank = " \t";
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(','), patterns.size());
    std::string_view each = patterns.substr(0, end);
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
    each.remove_prefix(std::min(each.find_first_not_of(kBlank), each.size()));
    each = each.substr(0, each.find_last_not_of(kBlank) + 1);
    if (matches(each, host, port)) return true;
  }
  return false;
}

}  // namespace

std::string proxyHint(const runtime::Endpoint& server, const Environment& environment) {
  const auto isSet = [&](const char* name) { return !environment(name).empty(); };
  const char* const name = isSet("HTTPS_PROXY") ? "HTTPS_PROXY" : "https_proxy";
  const std::string host = k8s::lowerAscii(server.address);
  if (!isSet(name) || isLoopback(host)) return {};
  const std::string excluded = environment(isSet("NO_PROXY") ? "NO_PROXY" : "no_proxy");
  if (isExcluded(k8s::lowerAscii(excluded), host, server.port)) return {};
  return std::string{" ("} + name + " is set, but this program does not support proxies)";
}

}  // namespace dynamo::kube
