#pragma once
// The CAs in a caBundle. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "certs/openssl.h"

namespace dynamo::provisioning {

/// The maximum number of earlier CAs in a bundle. The newest ones are kept. Without a limit, a Secret that is
/// often deleted would fill the bundle. Two replicas make fewer CAs at once (kSecretBurst of
/// certificate_manager.cpp each), so the CA that the webhook uses meanwhile stays.
inline constexpr std::size_t kMaxPreviousCas = 12;

/// Returns true if the PEM text contains at least one certificate and can be parsed completely.
bool isCertificateBundle(std::string_view pem);

/// Returns true if `bundle` contains every certificate of `ca`. Returns false if either cannot be parsed.
bool containsCas(std::string_view bundle, std::string_view ca);

/// Returns the caBundle in PEM that must replace `bundle`. Returns nullopt if `bundle` contains the right CAs
/// or if `ca`, the ca.crt of the Secret, cannot be parsed. The result starts with the certificates of `ca`.
/// Earlier CAs follow until they expire, because the server uses its old certificate until the kubelet has
/// updated the mounted Secret (cert-Q3). They may have any name: before a change from another mode, the CA
/// was that of cert-manager or an administrator. The bundle is the only record of earlier CAs, so all
/// replicas compute the same result.
std::optional<std::string> planBundle(std::string_view ca, std::string_view bundle, certs::Time now);

}  // namespace dynamo::provisioning
