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

/// The webhook Service of a certificate: the configured `serviceName` and the namespace of the operator.
struct ServiceName {
  std::string service;
  std::string namespaceName;
};

/// DNS names of the serving certificate in the order of the reference: first the primary name
/// `<svc>.<NS>.svc`, which the API server uses, then `<svc>`, `<svc>.<NS>` and
/// `<svc>.<NS>.svc.cluster.local`. `cluster.local` is fixed (cert-Q14). For an empty service name,
/// makeServing rejects the result (cert-Q13).
std::vector<std::string> servingDnsNames(std::string_view service, std::string_view namespaceName);

/// The subject alternative names of a serving certificate. DNS names come first, each list keeps its order.
struct SubjectNames {
  std::vector<std::string> dns;
  std::vector<std::string> ips;
};

/// Whether `name` has labels of 1 to 63 letters, digits and inner hyphens, and at most 253 bytes. No
/// wildcards.
bool isDnsName(std::string_view name);

/// The bytes of an IPv4 (4 bytes) or IPv6 (16 bytes) address without zone, in network order.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::size_t size = 0;
};
std::optional<IpAddress> parseIp(const std::string& text);

/// Returns InvalidInput for the first name that is not valid in a certificate, or if there are no names.
std::optional<Error> checkNames(const SubjectNames& names);

/// Whether the certificate is valid for `name` by Go's rules: wildcards match, the common name is ignored.
bool isValidFor(X509& certificate, std::string_view name);

/// The DNS subject alternative names in the order of the certificate.
std::vector<std::string> dnsNamesOf(const X509& certificate);

/// The names in `present` that belong to other Services in the namespace `own.namespaceName`, in any form of
/// servingDnsNames. The form `<svc>` only counts if `<svc>.<NS>.svc` is also present. Returns at most the
/// first kMaxKeptNames names (cert-Q9).
std::vector<std::string> otherServiceNames(const std::vector<std::string>& present, const ServiceName& own);

/// Four names of 16 releases in one namespace. Without a limit, old names of renamed releases would
/// accumulate.
inline constexpr std::size_t kMaxKeptNames = 64;

}  // namespace dynamo::certs
