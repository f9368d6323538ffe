#include "certs/check.h"

#include <fmt/format.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <utility>

#include "certs/make.h"
#include "certs/names.h"
#include "certs/tls_context.h"

namespace dynamo::certs {

namespace {

using StorePtr = std::unique_ptr<X509_STORE, OpensslDeleter<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, OpensslDeleter<X509_STORE_CTX_free>>;

struct Leaf {
  CertificatePtr certificate;
  KeyPtr key;
};

Result<Leaf> parseLeaf(const PemPair& pair, std::string_view certificateLabel, std::string_view keyLabel) {
  auto chain = parseCertificates(pair.certificate, certificateLabel);
  if (const auto* error = std::get_if<Error>(&chain)) return *error;
  auto key = parsePrivateKey(pair.privateKey, keyLabel);
  if (const auto* error = std::get_if<Error>(&key)) return *error;
  Leaf leaf{std::move(std::get<std::vector<CertificatePtr>>(chain).front()),
            std::move(std::get<KeyPtr>(key))};
  if (X509_check_private_key(leaf.certificate.get(), leaf.key.get()) != 1) {
    return Error{Problem::KeyMismatch,
                 fmt::format("{}: does not match the certificate in {}", keyLabel, certificateLabel)};
  }
  return leaf;
}

Problem problemOf(int verifyCode) {
  switch (verifyCode) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Problem::Expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Problem::NotYetValid;
    case X509_V_ERR_INVALID_PURPOSE:
      return Problem::WrongUsage;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK:
      return Problem::TooWeak;
    default:
      return Problem::Untrusted;
  }
}

std::optional<Error> verify(X509* ca, X509* leaf, std::string_view label, bool asServer, Time at) {
  const StorePtr store{X509_STORE_new()};
  const StoreContextPtr context{X509_STORE_CTX_new()};
  if (!store || !context || X509_STORE_add_cert(store.get(), ca) != 1 ||
      X509_STORE_CTX_init(context.get(), store.get(), leaf, nullptr) != 1) {
    return Error{Problem::Internal, "certificate verification could not start: " + opensslReason()};
  }
  X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(parameters, at.time_since_epoch().count());
  // The API server trusts every certificate in the caBundle, including certificates that are not self-signed.
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_auth_level(parameters, kSecurityLevel);
  if (asServer) X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_SERVER);
  if (X509_verify_cert(context.get()) == 1) return std::nullopt;
  const int code = X509_STORE_CTX_get_error(context.get());
  return Error{problemOf(code), fmt::format("{}: {}", label, X509_verify_cert_error_string(code))};
}

// Verifies at `now` first, so that the error text distinguishes "expired" from "due for renewal".
std::optional<Error> verifyUntilRenewal(X509* ca, X509* leaf, std::string_view label, bool asServer,
                                        Time now) {
  if (auto error = verify(ca, leaf, label, asServer, now)) return error;
  auto error = verify(ca, leaf, label, asServer, now + kRenewBefore);
  const auto end = notAfter(*leaf);
  if (error && error->problem == Problem::Expired && end) {
    error->text =
        fmt::format("{}: expires on {}, in less than {} days", label, formatTime(*end), kRenewBefore.count());
  }
  return error;
}

std::optional<Error> checkName(X509* certificate, std::string_view name, std::string_view label) {
  if (isValidFor(*certificate, name)) return std::nullopt;
  return Error{Problem::WrongName, fmt::format("{}: is not valid for \"{}\"", label, name)};
}

}  // namespace

Result<Authority> parseAuthority(const PemPair& ca) {
  const ErrorQueueScope errors;
  auto parsed = parseLeaf(ca, "ca.crt", "ca.key");
  if (const auto* error = std::get_if<Error>(&parsed)) return *error;
  Leaf& pair = std::get<Leaf>(parsed);
  X509* certificate = pair.certificate.get();
  // X509_get_key_usage returns all bits if the extension is absent.
  const bool signs = (X509_get_key_usage(certificate) & KU_KEY_CERT_SIGN) != 0;
  if ((X509_get_extension_flags(certificate) & EXFLAG_CA) == 0 || !signs) {
    return Error{Problem::WrongUsage, "ca.crt: is not a certificate authority (CA:true and keyCertSign)"};
  }
  return Authority{std::move(pair.certificate), std::move(pair.key)};
}

std::optional<Error> checkAuthority(const PemPair& ca, Time now) {
  const ErrorQueueScope errors;
  auto parsed = parseAuthority(ca);
  if (auto* error = std::get_if<Error>(&parsed)) return std::move(*error);
  X509* certificate = std::get<Authority>(parsed).certificate.get();
  if (auto error = verifyUntilRenewal(certificate, certificate, "ca.crt", false, now)) return error;
  return checkName(certificate, kCaName, "ca.crt");
}

std::optional<Error> checkServing(std::string_view caPem, const PemPair& serving,
                                  std::string_view primaryName, Time now) {
  const ErrorQueueScope errors;
  auto ca = parseCertificates(caPem, "ca.crt");
  if (auto* error = std::get_if<Error>(&ca)) return std::move(*error);
  auto parsed = parseLeaf(serving, "tls.crt", "tls.key");
  if (auto* error = std::get_if<Error>(&parsed)) return std::move(*error);
  X509* authority = std::get<std::vector<CertificatePtr>>(ca).front().get();
  X509* leaf = std::get<Leaf>(parsed).certificate.get();
  if (auto error = verifyUntilRenewal(authority, leaf, "tls.crt", true, now)) return error;
  return checkName(leaf, primaryName, "tls.crt");
}

std::vector<std::string> currentDnsNames(std::string_view caPem, const PemPair& serving, Time now) {
  const ErrorQueueScope errors;
  auto ca = parseCertificates(caPem, "ca.crt");
  auto parsed = parseLeaf(serving, "tls.crt", "tls.key");
  const auto* authorities = std::get_if<std::vector<CertificatePtr>>(&ca);
  const auto* leaf = std::get_if<Leaf>(&parsed);
  if (authorities == nullptr || leaf == nullptr) return {};
  if (verify(authorities->front().get(), leaf->certificate.get(), "tls.crt", true, now)) return {};
  return dnsNamesOf(*leaf->certificate);
}

}  // namespace dynamo::certs
