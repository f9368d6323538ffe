#pragma once

#include <chrono>

#include "certs/error.h"
#include "certs/names.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// The reference's figures, so that either operator goes on with what the other made.
inline constexpr const char* kCaName = "Dynamo-Webhook-CA";
inline constexpr const char* kCaOrganization = "NVIDIA";
inline constexpr std::chrono::days kCaLifetime{10 * 365};
inline constexpr std::chrono::days kServingLifetime{365};
/// notBefore lies this far back, so that a client whose clock is behind accepts a fresh certificate.
inline constexpr std::chrono::hours kClockSkew{1};
/// X.520 upper bound of a common name; OpenSSL refuses longer ones (cert-Q7).
inline constexpr std::size_t kMaxCommonName = 64;

/// A self-signed RSA 2048 CA: CN and DNS SAN kCaName, O kCaOrganization, CA:true, keyUsage digitalSignature +
/// keyCertSign, random 128-bit serial (cert-Q6), now - 1 h to now + lifetime. The key is PKCS#1, the only
/// kind that the reference reads from `ca.key` when a cluster goes back to it. The reference also sets
/// keyEncipherment; that is RSA key transport, which a CA does not do, so it is left out.
/// Errors: InvalidInput (lifetime outside 1 day to kCaLifetime), Internal.
Result<PemPair> makeCa(Time now, std::chrono::days lifetime = kCaLifetime);

/// A P-256 serving certificate, for cheap handshakes, signed by `ca`, whatever its type of key: serverAuth,
/// digitalSignature, CA:false, subject and authority key id. CN is the first DNS name if that fits
/// kMaxCommonName, otherwise the subject is empty and the SAN extension critical, as RFC 5280 section 4.2.1.6
/// asks. notAfter never lies beyond the CA's own. Errors: InvalidInput (names, lifetime), those of parsing
/// `ca`, KeyMismatch, WrongUsage and Expired of `ca`, Internal.
Result<PemPair> makeServing(const PemPair& ca, const SubjectNames& names, Time now,
                            std::chrono::days lifetime = kServingLifetime);

}  // namespace dynamo::certs
