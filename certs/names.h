#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// The webhook Service a certificate is made for: configuration `serviceName` and the operator namespace.
struct ServiceName {
  std::string service;
  std::string nameSpace;
};

/// DNS names of the serving certificate in the reference's order: `<svc>.<NS>.svc` first (the
/// primary, which the API server dials), then `<svc>`, `<svc>.<NS>`, `<svc>.<NS>.svc.cluster.local`.
/// `cluster.local` is fixed (cert-Q14). An empty service name gives names that makeServing refuses
/// (cert-Q13).
std::vector<std::string> servingDnsNames(std::string_view service, std::string_view nameSpace);

/// What a serving certificate is valid for; DNS names come first in the certificate, each list in its order.
struct SubjectNames {
  std::vector<std::string> dns;
  std::vector<std::string> ips;
};

/// Letters, digits and inner hyphens in labels of 1 to 63 bytes, 253 bytes in all; no wildcard.
bool isDnsName(std::string_view name);

/// Network-order address bytes of an IPv4 (4 used) or IPv6 (16 used) literal without zone.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t size = 0;
};
std::optional<IpAddress> parseIp(const std::string& text);

/// InvalidInput for the first name that cannot stand in a certificate, or when there is no name at all.
std::optional<Error> checkNames(const SubjectNames& names);

/// Whether clients take the certificate for `name`, as Go's do: wildcards count, the common name does not.
bool isValidFor(X509& certificate, std::string_view name);

/// DNS subject alternative names in certificate order.
std::vector<std::string> dnsNamesOf(const X509& certificate);

/// The names of other Services of `own.nameSpace` among `present`: all of these forms, the bare
/// `<svc>` only when `<svc>.<NS>.svc` stands there too. At most kMaxKeptNames, the first ones (cert-Q9).
std::vector<std::string> otherServiceNames(const std::vector<std::string>& present, const ServiceName& own);

/// 16 releases in one namespace; without a cap every renamed release would stay in the certificate for good.
inline constexpr std::size_t kMaxKeptNames = 64;

}  // namespace dynamo::certs
