#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// A certificate is renewed when fewer days than this remain. The reference has the same value, and it leaves
/// enough time to notice failing renewals.
inline constexpr std::chrono::days kRenewBefore{90};

/// A CA certificate with its private key.
struct Authority {
  CertificatePtr certificate;
  KeyPtr key;
};

/// Parses `ca` and checks that it can sign. Error texts name ca.crt and ca.key. Errors: KeyMismatch, or
/// WrongUsage without CA:true or keyCertSign. Does not check dates and names.
Result<Authority> parseAuthority(const PemPair& ca);

/// Checks that `ca` is valid now and at now + kRenewBefore, and has the DNS SAN kCaName. Returns the first
/// error.
std::optional<Error> checkAuthority(const PemPair& ca, Time now);

/// Checks that the leaf of `serving` matches its key, covers `primaryName`, and verifies as a TLS server
/// certificate against the first certificate of `caPem`, both now and at now + kRenewBefore. The check for
/// now detects certificates that are not valid yet. Returns the first error.
std::optional<Error> checkServing(std::string_view caPem, const PemPair& serving,
                                  std::string_view primaryName, Time now);

/// The DNS names of the current leaf if the pair matches and verifies against `caPem` at `now`; empty
/// otherwise. Renewal keeps only names of a certificate that is valid now (cert-Q9).
std::vector<std::string> currentDnsNames(std::string_view caPem, const PemPair& serving, Time now);

}  // namespace dynamo::certs
