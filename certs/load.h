#pragma once

#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"
#include "certs/pem.h"

namespace dynamo::certs {

/// A pair that a TLS server can present: leaf first, then the rest of the chain.
struct ServingPair {
  std::vector<CertificatePtr> chain;
  KeyPtr key;
  Time notBefore;
  Time notAfter;
  Time chainNotAfter;  ///< the earliest end in the chain; clients may do without what ends so early
};

/// Parses and validates the pair for serving at `now`; the labels (file paths) start the error texts.
/// Checks what any client would refuse and nothing more: who signed it is the client's business, so a
/// user-supplied pair of any CA is welcome.
/// Errors: Empty, TooLarge, NotPem, Malformed, Encrypted, KeyMismatch, Expired, NotYetValid, WrongUsage
/// (extended key usage present without serverAuth).
Result<ServingPair> loadServingPair(const PemPair& pem, std::string_view certificateLabel,
                                    std::string_view keyLabel, Time now);

}  // namespace dynamo::certs
