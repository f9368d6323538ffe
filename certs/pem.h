#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// The maximum input of the PEM parser. PEM parsers may need quadratic time, see CVE-2024-12401. A Secret has
/// at most 1 MiB, and a real chain less than 20 KiB.
inline constexpr std::size_t kMaxPemBytes = 256UL * 1024;
/// The maximum size of a private key. RSA 16384 has 13 KiB. OpenSSL's key decoder tries many formats per
/// block.
inline constexpr std::size_t kMaxKeyPemBytes = 32UL * 1024;
/// The maximum length of a chain; public chains have two to four certificates.
inline constexpr std::size_t kMaxChainCertificates = 16;

/// A certificate and its private key as PEM text. `certificate` may contain the chain after the leaf.
struct PemPair {
  std::string certificate;
  std::string privateKey;
};

/// Parses all CERTIFICATE blocks of `pem`, at least one. Text between the blocks is ignored, as usual for
/// PEM. Error texts start with `label`, a file or Secret key. Errors: Empty, TooLarge, NotPem, Malformed.
Result<std::vector<CertificatePtr>> parseCertificates(std::string_view pem, std::string_view label);

/// Parses the first private key of `pem`: PKCS#8, PKCS#1 (written by the reference operator) or SEC1.
/// Errors: Empty, TooLarge, NotPem, Malformed, Encrypted.
Result<KeyPtr> parsePrivateKey(std::string_view pem, std::string_view label);

/// Returns the PEM text of a certificate, or Internal.
Result<std::string> writeCertificate(const X509& certificate);

/// Returns unencrypted PEM text, or Internal. RSA keys are PKCS#1 as in the reference, all others PKCS#8.
Result<std::string> writePrivateKey(const EVP_PKEY& key);

}  // namespace dynamo::certs
