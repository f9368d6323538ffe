#pragma once
// The CAs in a caBundle. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "certs/openssl.h"

namespace dynamo::provisioning {

/// The CAs that a caBundle must contain, and which other CAs it may keep.
struct TrustedCa {
  std::string pem;  ///< ca.crt of the Secret; may contain several certificates
  /// Which other CAs of the current bundle are kept while they are valid. False: only CAs with the name that
  /// operators give to their CAs. True: all CAs, for manual mode, in which a CA may have any name.
  bool keepAnyName = false;
};

/// The maximum number of earlier CAs in a bundle. The newest ones are kept. Without a limit, a Secret that is
/// often deleted would fill the bundle.
inline constexpr std::size_t kMaxPreviousCas = 3;

/// Returns true if the PEM text contains at least one certificate and can be parsed completely.
bool isCertificateBundle(std::string_view pem);

/// Returns true if `bundle` contains every certificate of `ca`. Returns false if either cannot be parsed.
bool containsCas(std::string_view bundle, std::string_view ca);

/// Returns the caBundle in PEM that must replace `bundle`. Returns nullopt if `bundle` contains the right CAs
/// or if `ca.pem` cannot be parsed. The result starts with the current CA. Earlier CAs follow until they
/// expire, because the server uses its old certificate until the kubelet has updated the mounted Secret
/// (cert-Q3). The bundle is the only record of earlier CAs, so all replicas compute the same result.
std::optional<std::string> planBundle(const TrustedCa& ca, std::string_view bundle, certs::Time now);

}  // namespace dynamo::provisioning
