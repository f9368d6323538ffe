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

/// A certificate is renewed once fewer days than this remain: the reference's figure, and time enough to see
/// that renewing fails.
inline constexpr std::chrono::days kRenewBefore{90};

/// A CA certificate with its private key.
struct Authority {
  CertificatePtr certificate;
  KeyPtr key;
};

/// Parses `ca` (errors are labelled ca.crt and ca.key) and refuses what cannot sign: KeyMismatch, or
/// WrongUsage without CA:true or keyCertSign. Says nothing about dates and names.
Result<Authority> parseAuthority(const PemPair& ca);

/// nullopt when `ca` is usable now and at now + kRenewBefore and carries the DNS SAN kCaName; otherwise the
/// first thing wrong.
std::optional<Error> checkAuthority(const PemPair& ca, Time now);

/// nullopt when the leaf of `serving` verifies against the first certificate of `caPem` alone as a TLS
/// server, now and at now + kRenewBefore, matches its key and covers `primaryName`; otherwise the first thing
/// wrong. "Now" is checked too: a certificate from the future cannot be served yet.
std::optional<Error> checkServing(std::string_view caPem, const PemPair& serving,
                                  std::string_view primaryName, Time now);

/// DNS names of the present leaf if the pair matches and verifies against `caPem` at `now` itself; empty
/// otherwise. Rotation keeps names only from a certificate that works today (cert-Q9).
std::vector<std::string> namesServedNow(std::string_view caPem, const PemPair& serving, Time now);

}  // namespace dynamo::certs
