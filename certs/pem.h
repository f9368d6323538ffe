#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "certs/error.h"
#include "certs/openssl.h"

namespace dynamo::certs {

/// Caps on what is handed to the PEM parser. CVE-2024-12401 taught that a PEM parser may be quadratic in its
/// input; a Secret cannot hold more than 1 MiB anyway, and a real chain is under 20 KiB.
inline constexpr std::size_t kMaxPemBytes = 256UL * 1024;
/// Cap of a private key: RSA 16384 takes 13 KiB, and OpenSSL's key decoder tries many formats on each block.
inline constexpr std::size_t kMaxKeyPemBytes = 32UL * 1024;
/// Longest chain accepted in one file; public chains have two to four certificates.
inline constexpr std::size_t kMaxChainCertificates = 16;

/// A certificate and its private key as PEM text. `certificate` may carry the chain after the leaf.
struct PemPair {
  std::string certificate;
  std::string privateKey;
};

/// All CERTIFICATE blocks of `pem`, at least one; text between the blocks is ignored, as every PEM reader
/// does. `label` (a file or Secret key) starts the error text. Errors: Empty, TooLarge, NotPem, Malformed.
Result<std::vector<CertificatePtr>> parseCertificates(std::string_view pem, std::string_view label);

/// The first private key of `pem`: PKCS#8, PKCS#1 (what the reference operator wrote) or SEC1.
/// Errors: Empty, TooLarge, NotPem, Malformed, Encrypted.
Result<KeyPtr> parsePrivateKey(std::string_view pem, std::string_view label);

/// PEM of one certificate, or Internal.
Result<std::string> writeCertificate(const X509& certificate);

/// Unencrypted PEM, or Internal: PKCS#1 of RSA keys as the reference writes and reads them, else PKCS#8.
Result<std::string> writePrivateKey(const EVP_PKEY& key);

}  // namespace dynamo::certs
