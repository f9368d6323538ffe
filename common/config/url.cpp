#include "common/config/url.h"

#include <arpa/inet.h>

#include <algorithm>

namespace dynamo::config {
namespace {

using Problem = std::optional<std::string>;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool isHex(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

Problem badEscape(std::string_view s) {
  for (std::size_t at = s.find('%'); at != std::string_view::npos; at = s.find('%', at + 3)) {
    if (at + 2 >= s.size() || !isHex(s[at + 1]) || !isHex(s[at + 2])) return "invalid percent escape";
  }
  return std::nullopt;
}

Problem badPort(std::string_view port) {
  if (port.empty()) return std::nullopt;
  if (port.front() == ':' && std::all_of(port.begin() + 1, port.end(), isDigit)) return std::nullopt;
  return "invalid port after host";
}

/// A host may contain %XX only for non-ASCII bytes and for % itself.
Problem badHostName(std::string_view host) {
  if (auto problem = badEscape(host)) return problem;
  for (std::size_t i = 0; i < host.size(); ++i) {
    const char c = host[i];
    if (c == '%') {
      if (host[i + 1] < '8' && host.substr(i, 3) != "%25") return "invalid percent escape in host name";
      continue;
    }
    const bool plain = isLetter(c) || isDigit(c) || static_cast<unsigned char>(c) >= 0x80;
    if (!plain && std::string_view{"-_.~!$&'()*+,;=:[]<>\""}.find(c) == std::string_view::npos) {
      return "invalid character in host name";
    }
  }
  return std::nullopt;
}

bool isIpv6(std::string_view text) {
  in6_addr address{};
  return inet_pton(AF_INET6, std::string{text}.c_str(), &address) == 1;
}

Problem badHost(std::string_view host) {
  if (!host.starts_with('[')) {
    const std::size_t colon = host.rfind(':');
    if (colon != std::string_view::npos) {
      if (auto problem = badPort(host.substr(colon))) return problem;
    }
    return badHostName(host);
  }
  const std::size_t close = host.rfind(']');
  if (close == std::string_view::npos) return "missing ']' in host";
  if (auto problem = badPort(host.substr(close + 1))) return problem;
  const std::string_view inside = host.substr(1, close - 1);
  const std::size_t zone = inside.find("%25");
  if (zone != std::string_view::npos) {
    if (auto problem = badEscape(inside.substr(zone))) return problem;
  } else if (inside.find('%') != std::string_view::npos) {
    return "invalid percent escape in host name";
  }
  return isIpv6(inside.substr(0, zone)) ? std::nullopt : Problem{"invalid IPv6 address"};
}

Problem badUserInfo(std::string_view user) {
  for (const char c : user) {
    const bool plain = isLetter(c) || isDigit(c);
    if (!plain && std::string_view{"-._:~!$&'()*+,;=%@"}.find(c) == std::string_view::npos) {
      return "invalid user information";
    }
  }
  return badEscape(user);
}

struct Scheme {
  std::string_view name;
  std::string_view rest;
};

/// nullopt if the text starts with a colon.
std::optional<Scheme> splitScheme(std::string_view url) {
  for (std::size_t i = 0; i < url.size(); ++i) {
    const char c = url[i];
    if (isLetter(c)) continue;
    if (c == ':') return i == 0 ? std::nullopt : std::optional<Scheme>{{url.substr(0, i), url.substr(i + 1)}};
    if (i == 0 || (!isDigit(c) && c != '+' && c != '-' && c != '.')) break;
  }
  return Scheme{{}, url};
}

}  // namespace

std::optional<std::string> urlProblem(std::string_view url) {
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(url.begin(), url.end(), isControl)) return "control character";
  const std::size_t hash = url.find('#');
  if (hash != std::string_view::npos) {
    if (auto problem = badEscape(url.substr(hash + 1))) return problem;
    url = url.substr(0, hash);
  }
  const auto scheme = splitScheme(url);
  if (!scheme) return "missing protocol scheme";
  std::string_view rest = scheme->rest.substr(0, scheme->rest.find('?'));
  if (!rest.starts_with('/')) {
    if (!scheme->name.empty()) return std::nullopt;  // opaque, as in mailto:x
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos) {
      return "the first path segment must not contain a colon";
    }
  }
  if (rest.starts_with("//") && (!scheme->name.empty() || !rest.starts_with("///"))) {
    const std::string_view authority = rest.substr(2, rest.substr(2).find('/'));
    rest = rest.substr(2 + authority.size());
    const std::size_t at = authority.rfind('@');
    if (auto problem = badHost(at == std::string_view::npos ? authority : authority.substr(at + 1))) {
      return problem;
    }
    if (at != std::string_view::npos) {
      if (auto problem = badUserInfo(authority.substr(0, at))) return problem;
    }
  }
  return badEscape(rest);
}

}  // namespace dynamo::config
