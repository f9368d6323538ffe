#include "certs/load.h"

#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

namespace dynamo::certs {

Result<ServingPair> loadServingPair(const PemPair& pem, std::string_view certificateLabel,
                                    std::string_view keyLabel, Time now) {
  const ErrorQueueScope errors;
  auto chain = parseCertificates(pem.certificate, certificateLabel);
  if (const auto* error = std::get_if<Error>(&chain)) return *error;
  auto key = parsePrivateKey(pem.privateKey, keyLabel);
  if (const auto* error = std::get_if<Error>(&key)) return *error;
  auto& certificates = std::get<std::vector<CertificatePtr>>(chain);
  X509* leaf = certificates.front().get();
  if (X509_check_private_key(leaf, std::get<KeyPtr>(key).get()) != 1) {
    return Error{Problem::KeyMismatch,
                 fmt::format("{}: does not match the first certificate of {}", keyLabel, certificateLabel)};
  }
  const auto begin = notBefore(*leaf);
  const auto end = notAfter(*leaf);
  if (!begin || !end) {
    return Error{Problem::Malformed, fmt::format("{}: validity is not a valid date", certificateLabel)};
  }
  if (now > *end) {
    return Error{Problem::Expired, fmt::format("{}: expired on {}", certificateLabel, formatTime(*end))};
  }
  if (now < *begin) {
    return Error{Problem::NotYetValid,
                 fmt::format("{}: not valid before {}", certificateLabel, formatTime(*begin))};
  }
  // All bits are set if the extension is absent, which every client accepts.
  if ((X509_get_extended_key_usage(leaf) & (XKU_SSL_SERVER | XKU_ANYEKU)) == 0) {
    return Error{Problem::WrongUsage,
                 fmt::format("{}: extended key usage lacks serverAuth", certificateLabel)};
  }
  Time chainEnd = *end;
  for (const CertificatePtr& each : certificates)
    chainEnd = std::min(chainEnd, notAfter(*each).value_or(chainEnd));
  return ServingPair{std::move(certificates), std::move(std::get<KeyPtr>(key)), *begin, *end, chainEnd};
}

}  // namespace dynamo::certs
