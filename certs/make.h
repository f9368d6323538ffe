#pragma once

#include <chrono>

#include "certs/error.h"
#include "certs/names.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// The values of the reference, so that each operator can use the certificates of the other.
inline constexpr const char* kCaName = "Dynamo-Webhook-CA";
inline constexpr const char* kCaOrganization = "NVIDIA";
inline constexpr std::chrono::days kCaLifetime{10 * 365};
inline constexpr std::chrono::days kServingLifetime{365};
/// notBefore is this far in the past, so that clients whose clock is slow accept a new certificate.
inline constexpr std::chrono::hours kClockSkew{1};
/// The maximum length of a common name in X.520; OpenSSL rejects longer names (cert-Q7).
inline constexpr std::size_t kMaxCommonName = 64;

/// Makes a self-signed RSA 2048 CA: CN and DNS SAN kCaName, O kCaOrganization, CA:true, keyUsage
/// digitalSignature + keyCertSign, random 128-bit serial (cert-Q6), valid from now - kClockSkew to now +
/// lifetime. The key is PKCS#1, the only form that the reference reads, so a cluster can switch back to it.
/// The reference also sets keyEncipherment. It is omitted here, because a CA does not use RSA key transport.
/// Errors: InvalidInput (lifetime outside 1 day to kCaLifetime), Internal.
Result<PemPair> makeCa(Time now, std::chrono::days lifetime = kCaLifetime);

/// Makes a serving certificate signed by `ca`, which may have any type of key. The key is P-256, which makes
/// handshakes cheap. Extensions: serverAuth, digitalSignature, CA:false, subject and authority key id. CN is
/// the first DNS name if it is not longer than kMaxCommonName. Otherwise the subject is empty and the SAN
/// extension is critical, as RFC 5280 section 4.2.1.6 requires. notAfter is never after that of the CA.
/// Errors: InvalidInput (names, lifetime), those of parsing `ca`, KeyMismatch, WrongUsage and Expired of
/// `ca`, Internal.
Result<PemPair> makeServing(const PemPair& ca, const SubjectNames& names, Time now,
                            std::chrono::days lifetime = kServingLifetime);

/// Makes a serving certificate as above that is signed by its own key, for clients that do not verify it.
/// Errors: InvalidInput (names, lifetime), Internal.
Result<PemPair> makeSelfSigned(const SubjectNames& names, Time now,
                               std::chrono::days lifetime = kServingLifetime);

}  // namespace dynamo::certs
