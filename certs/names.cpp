#include "certs/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace dynamo::certs {

namespace {

using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslDeleter<GENERAL_NAMES_free>>;

constexpr std::size_t kMaxDnsName = 253;
constexpr std::size_t kMaxDnsLabel = 63;

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool isDnsLabel(std::string_view label) {
  if (label.empty() || label.size() > kMaxDnsLabel || label.front() == '-' || label.back() == '-')
    return false;
  return std::all_of(label.begin(), label.end(), [](char c) { return isAlphanumeric(c) || c == '-'; });
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// The Service of a name in one of the forms of servingDnsNames for `namespaceName`, or else empty.
std::string_view serviceOf(std::string_view name, std::string_view namespaceName) {
  const std::string_view service = name.substr(0, name.find('.'));
  const std::string_view rest = name.substr(service.size());
  if (rest.empty()) return service;
  const std::string qualified = fmt::format(".{}", namespaceName);
  if (rest == qualified || rest == qualified + ".svc" || rest == qualified + ".svc.cluster.local") {
    return service;
  }
  return {};
}

}  // namespace

std::vector<std::string> servingDnsNames(std::string_view service, std::string_view namespaceName) {
  return {fmt::format("{}.{}.svc", service, namespaceName), std::string{service},
          fmt::format("{}.{}", service, namespaceName),
          fmt::format("{}.{}.svc.cluster.local", service, namespaceName)};
}

bool isDnsName(std::string_view name) {
  if (name.size() > kMaxDnsName) return false;
  while (true) {
    const std::size_t dot = name.find('.');
    if (!isDnsLabel(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

std::optional<IpAddress> parseIp(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) {
    address.size = 4;
  } else if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) {
    address.size = 16;
  } else {
    return std::nullopt;
  }
  return address;
}

std::optional<Error> checkNames(const SubjectNames& names) {
  if (names.dns.empty() && names.ips.empty()) {
    return Error{Problem::InvalidInput, "at least one DNS name or IP address is required"};
  }
  for (const std::string& name : names.dns) {
    if (!isDnsName(name)) {
      return Error{Problem::InvalidInput, fmt::format("\"{}\" is not a DNS name", name)};
    }
  }
  for (const std::string& ip : names.ips) {
    if (!parseIp(ip)) return Error{Problem::InvalidInput, fmt::format("\"{}\" is not an IP address", ip)};
  }
  return std::nullopt;
}

bool isValidFor(X509& certificate, std::string_view name) {
  constexpr unsigned kFlags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
  return X509_check_host(&certificate, name.data(), name.size(), kFlags, nullptr) == 1;
}

std::vector<std::string> dnsNamesOf(const X509& certificate) {
  const ErrorQueueScope errors;
  const GeneralNamesPtr names{
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr))};
  std::vector<std::string> result;
  if (!names) return result;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(name, &type);
    if (type != GEN_DNS) continue;
    const auto* text = static_cast<const ASN1_IA5STRING*>(value);
    const unsigned char* bytes = ASN1_STRING_get0_data(text);
    result.emplace_back(bytes, bytes + ASN1_STRING_length(text));
  }
  return result;
}

std::vector<std::string> otherServiceNames(const std::vector<std::string>& present, const ServiceName& own) {
  std::vector<std::string> kept;
  for (const std::string& name : present) {
    if (kept.size() == kMaxKeptNames) break;
    const std::string_view service = serviceOf(name, own.namespaceName);
    const bool foreign = !service.empty() && service != own.service && isDnsName(name);
    if (!foreign || contains(kept, name)) continue;
    if (contains(present, fmt::format("{}.{}.svc", service, own.namespaceName))) kept.push_back(name);
  }
  return kept;
}

}  // namespace dynamo::certs
