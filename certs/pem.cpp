#include "certs/pem.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <optional>

namespace dynamo::certs {

namespace {

// Without a callback OpenSSL would ask for a passphrase on the terminal.
int refusePassphrase(char*, int, int, void*) {
  return -1;
}

std::optional<Error> checkSize(std::string_view pem, std::string_view label, std::size_t cap) {
  if (pem.empty()) return Error{Problem::Empty, fmt::format("{}: is empty", label)};
  if (pem.size() > cap) {
    return Error{Problem::TooLarge, fmt::format("{}: is larger than {} bytes", label, cap)};
  }
  return std::nullopt;
}

BioPtr readOnly(std::string_view text) {
  return BioPtr{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

bool atEndOfBlocks() {
  const unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

Result<std::string> textOf(BIO* bio, bool written) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  if (!written || size <= 0) return Error{Problem::Internal, "PEM encoding failed: " + opensslReason()};
  return std::string{data, static_cast<std::size_t>(size)};
}

}  // namespace

Result<std::vector<CertificatePtr>> parseCertificates(std::string_view pem, std::string_view label) {
  const ErrorQueueScope errors;
  if (auto error = checkSize(pem, label, kMaxPemBytes)) return *error;
  const BioPtr bio = readOnly(pem);
  std::vector<CertificatePtr> chain;
  while (CertificatePtr next{PEM_read_bio_X509(bio.get(), nullptr, refusePassphrase, nullptr)}) {
    if (chain.size() == kMaxChainCertificates) {
      return Error{Problem::TooLarge,
                   fmt::format("{}: contains more than {} certificates", label, kMaxChainCertificates)};
    }
    chain.push_back(std::move(next));
  }
  if (!atEndOfBlocks()) {
    return Error{Problem::Malformed, fmt::format("{}: certificate {} cannot be parsed ({})", label,
                                                 chain.size() + 1, opensslReason())};
  }
  if (chain.empty()) {
    return Error{Problem::NotPem, fmt::format("{}: contains no PEM block of type CERTIFICATE", label)};
  }
  return chain;
}

Result<KeyPtr> parsePrivateKey(std::string_view pem, std::string_view label) {
  const ErrorQueueScope errors;
  if (auto error = checkSize(pem, label, kMaxKeyPemBytes)) return *error;
  // OpenSSL reports the same code for a missing key and an invalid key, so a missing key is detected here.
  if (pem.find("PRIVATE KEY-----") == std::string_view::npos) {
    return Error{Problem::NotPem, fmt::format("{}: contains no PEM block of type PRIVATE KEY", label)};
  }
  if (pem.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") != std::string_view::npos ||
      pem.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos) {
    return Error{Problem::Encrypted, fmt::format("{}: is encrypted; an unencrypted key is required", label)};
  }
  const BioPtr bio = readOnly(pem);
  KeyPtr key{PEM_read_bio_PrivateKey(bio.get(), nullptr, refusePassphrase, nullptr)};
  if (!key) return Error{Problem::Malformed, fmt::format("{}: the private key cannot be parsed", label)};
  return key;
}

Result<std::string> writeCertificate(const X509& certificate) {
  const ErrorQueueScope errors;
  const BioPtr bio{BIO_new(BIO_s_mem())};
  return textOf(bio.get(), PEM_write_bio_X509(bio.get(), &certificate) == 1);
}

Result<std::string> writePrivateKey(const EVP_PKEY& key) {
  const ErrorQueueScope errors;
  // Secure-memory BIOs wipe their buffer when freed.
  const BioPtr bio{BIO_new(BIO_s_secmem())};
  BIO* out = bio.get();
  const int written =
      EVP_PKEY_is_a(&key, "RSA") == 1
          ? PEM_write_bio_PrivateKey_traditional(out, &key, nullptr, nullptr, 0, nullptr, nullptr)
          : PEM_write_bio_PKCS8PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr);
  return textOf(out, written == 1);
}

}  // namespace dynamo::certs
