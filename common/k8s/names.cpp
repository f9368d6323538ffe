#include "common/k8s/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/json/ascii.h"

namespace dynamo::k8s {
namespace {

using json::isDigit;
using json::isLetterOrDigit;
using json::isLower;
using json::isLowerOrDigit;

constexpr std::size_t kMaxPortName = 15;

template <typename Predicate>
bool all(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

std::string tooLong(std::size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}

/// Whether `text` has four numbers up to 255. Unlike inet_pton(), leading zeros are allowed.
bool isIpv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    const std::size_t end = std::min(text.find('.'), text.size());
    int value = 0;
    for (const char c : text.substr(0, end)) {
      if (!isDigit(c) || value > 255) return false;
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

bool isDnsPart(std::string_view part) {
  return !part.empty() && isLowerOrDigit(part.front()) && isLowerOrDigit(part.back()) &&
         all(part, [](char c) { return isLowerOrDigit(c) || c == '-'; });
}

bool isDnsSubdomain(std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (!isDnsPart(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

/// The name part of a qualified name; also the form of a label value.
bool isNamePart(std::string_view part) {
  return !part.empty() && isLetterOrDigit(part.front()) && isLetterOrDigit(part.back()) &&
         all(part, [](char c) { return isLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr std::string_view kNamePartRule =
    "must consist of letters, digits, '-', '_' or '.', and start and end with a letter or digit";
constexpr std::string_view kSubdomainRule =
    "must consist of lower case letters, digits, '-' or '.', and start and end with a letter or digit";

/// "*." and a subdomain.
std::string wildcardSubdomainProblem(std::string_view name) {
  if (name.size() > kMaxSubdomainLength) return tooLong(kMaxSubdomainLength);
  if (name.starts_with("*.") && isDnsSubdomain(name.substr(2))) return {};
  return "must be \"*.\" followed by a DNS subdomain";
}

bool isDotName(std::string_view name) {
  return name == "." || name.starts_with("..");
}

}  // namespace

std::string dns1123LabelProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > kMaxLabelLength) return tooLong(kMaxLabelLength);
  if (isDnsPart(name)) return {};
  return "must consist of lower case letters, digits or '-', and start and end with a letter or digit";
}

std::string dns1123SubdomainProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > kMaxSubdomainLength) return tooLong(kMaxSubdomainLength);
  return isDnsSubdomain(name) ? std::string{} : std::string{kSubdomainRule};
}

std::string qualifiedNameProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  const std::size_t slash = name.find('/');
  std::string_view part = name;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    part = name.substr(slash + 1);
    if (part.find('/') != std::string_view::npos) return "must contain at most one '/'";
    if (prefix.empty()) return "prefix part must not be empty";
    if (const std::string problem = dns1123SubdomainProblem(prefix); !problem.empty()) {
      return "prefix part " + problem;
    }
  }
  if (part.empty()) return "name part must not be empty";
  if (part.size() > kMaxLabelLength) return "name part " + tooLong(kMaxLabelLength);
  return isNamePart(part) ? std::string{} : fmt::format("name part {}", kNamePartRule);
}

std::string annotationKeyProblem(std::string_view key) {
  return qualifiedNameProblem(lowerAscii(key));
}

std::string labelValueProblem(std::string_view value) {
  if (value.size() > kMaxLabelLength) return tooLong(kMaxLabelLength);
  return value.empty() || isNamePart(value) ? std::string{} : std::string{kNamePartRule};
}

std::string shownEnvName(std::string_view name) {
  const std::size_t equals = name.find('=');
  if (equals == std::string_view::npos) return std::string{name};
  return std::string{name.substr(0, equals)} + "=...";
}

std::string envNameProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  const bool printable = all(name, [](char c) { return c >= ' ' && c <= '~' && c != '='; });
  return printable ? std::string{} : "must consist of printable ASCII characters other than '='";
}

std::string strictEnvNameProblem(std::string_view name) {
  const bool good = !name.empty() && !isDigit(name.front()) && !isDotName(name) &&
                    all(name, [](char c) { return isLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; });
  return good ? std::string{}
              : "should consist of letters, digits, '_', '-' or '.', not starting with a digit";
}

std::string configMapKeyProblem(std::string_view key) {
  if (key.empty()) return "must not be empty";
  if (key.size() > kMaxSubdomainLength) return tooLong(kMaxSubdomainLength);
  if (isDotName(key)) return "must not be '.' or start with '..'";
  const bool good = all(key, [](char c) { return isLetterOrDigit(c) || c == '-' || c == '_' || c == '.'; });
  return good ? std::string{} : "must consist of letters, digits, '-', '_' or '.'";
}

std::string portNameProblem(std::string_view name) {
  if (name.empty()) return "must not be empty";
  if (name.size() > kMaxPortName) return tooLong(kMaxPortName);
  if (!all(name, [](char c) { return isLowerOrDigit(c) || c == '-'; })) {
    return "must contain only lower case letters, digits and '-'";
  }
  if (std::none_of(name.begin(), name.end(), isLower)) return "must contain at least one letter";
  if (name.find("--") != std::string_view::npos) return "must not contain consecutive hyphens";
  if (name.front() == '-' || name.back() == '-') return "must not begin or end with a hyphen";
  return {};
}

std::string portNumberProblem(long long port) {
  return port >= 1 && port <= 65535 ? std::string{} : "must be between 1 and 65535, inclusive";
}

bool isNativeResource(std::string_view name) {
  return name.find('/') == std::string_view::npos || name.find("kubernetes.io/") != std::string_view::npos;
}

std::string resourceNameProblem(std::string_view name) {
  constexpr std::string_view kQuotaPrefix = "requests.";
  std::string problem = qualifiedNameProblem(name);
  if (!problem.empty()) return problem;
  if (name.find('/') == std::string_view::npos) {
    const bool known =
        name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
    return known
               ? std::string{}
               : "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as "
                 "nvidia.com/gpu";
  }
  if (isNativeResource(name)) return {};
  if (name.starts_with(kQuotaPrefix)) return "must not start with \"requests.\"";
  // The quota of the resource is named "requests.<name>".
  return qualifiedNameProblem(std::string{kQuotaPrefix} + std::string{name});
}

bool isIpAddress(std::string_view text) {
  // inet_pton() takes a C string, which would end at the NUL.
  if (text.find('\0') != std::string_view::npos) return false;
  in6_addr address{};
  return isIpv4(text) || inet_pton(AF_INET6, std::string{text}.c_str(), &address) == 1;
}

std::string hostProblem(std::string_view host) {
  if (host.empty()) return "must not be empty";
  if (isIpAddress(host)) return "must be a DNS name, not an IP address";
  if (host.find("://") != std::string_view::npos) return "must be a host name without a scheme";
  if (host.find('/') != std::string_view::npos) return "must be a host name without a path";
  if (host.find(':') != std::string_view::npos) return "must be a host name without a port";
  return host.find('*') == std::string_view::npos ? dns1123SubdomainProblem(host)
                                                  : wildcardSubdomainProblem(host);
}

std::string lowerAscii(std::string_view text) {
  std::string lower{text};
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace dynamo::k8s
