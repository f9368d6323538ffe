#pragma once

#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// A certificate chain and key that a TLS server can present. The chain starts with the leaf.
struct ServingPair {
  std::vector<CertificatePtr> chain;
  KeyPtr key;
  Time notBefore;
  Time notAfter;
  Time chainNotAfter;  ///< the earliest end in the chain; clients may not need every certificate in it
};

/// Parses the pair and validates it for serving at `now`. Error texts start with the labels, which are file
/// paths. Only checks properties that every client requires. The client verifies the issuer, so pairs of any
/// CA are accepted. Errors: Empty, TooLarge, NotPem, Malformed, Encrypted, KeyMismatch, Expired, NotYetValid,
/// WrongUsage (extended key usage present without serverAuth).
Result<ServingPair> loadServingPair(const PemPair& pem, std::string_view certificateLabel,
                                    std::string_view keyLabel, Time now);

}  // namespace dynamo::certs
