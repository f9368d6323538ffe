#include "certs/make.h"

#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>

#include "certs/check.h"

namespace dynamo::certs {

namespace {

using BignumPtr = std::unique_ptr<BIGNUM, OpensslDeleter<BN_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslDeleter<X509_EXTENSION_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslDeleter<GENERAL_NAMES_free>>;
using GeneralNamePtr = std::unique_ptr<GENERAL_NAME, OpensslDeleter<GENERAL_NAME_free>>;

constexpr int kSerialBits = 128;
constexpr long kX509Version3 = 2;
constexpr std::size_t kCaKeyBits = 2048;

Error internal(std::string_view step) {
  return Error{Problem::Internal, fmt::format("{} failed: {}", step, opensslReason())};
}

std::optional<Error> checkLifetime(std::chrono::days lifetime) {
  if (lifetime >= std::chrono::days{1} && lifetime <= kCaLifetime) return std::nullopt;
  return Error{Problem::InvalidInput,
               fmt::format("lifetime of {} days: must be 1 to {}", lifetime.count(), kCaLifetime.count())};
}

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool addSubject(X509* certificate, const char* field, std::string_view text) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8, bytesOf(text),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool setSerial(X509* certificate) {
  const BignumPtr number{BN_new()};
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool setValidity(X509* certificate, Time from, Time to) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), from.time_since_epoch().count()) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), to.time_since_epoch().count()) != nullptr;
}

// Only for constant texts. In OpenSSL's configuration syntax, a comma in a name would add an entry.
bool addExtension(X509* certificate, X509* issuer, int nid, const char* constant) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension{X509V3_EXT_conf_nid(nullptr, &context, nid, constant)};
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool pushName(GENERAL_NAMES* names, int type, const unsigned char* bytes, std::size_t size) {
  GeneralNamePtr name{GENERAL_NAME_new()};
  ASN1_STRING* value = ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);
  if (!name || value == nullptr) {
    ASN1_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name.get(), type, value);
  if (ASN1_STRING_set(value, bytes, static_cast<int>(size)) != 1) return false;
  if (sk_GENERAL_NAME_push(names, name.get()) == 0) return false;
  // The list owns the name from here on.
  return name.release() != nullptr;
}

bool addAlternativeNames(X509* certificate, const SubjectNames& names, bool critical) {
  const GeneralNamesPtr list{GENERAL_NAMES_new()};
  if (!list) return false;
  for (const std::string& name : names.dns) {
    if (!pushName(list.get(), GEN_DNS, bytesOf(name), name.size())) return false;
  }
  for (const std::string& text : names.ips) {
    const auto ip = parseIp(text);
    if (!ip || !pushName(list.get(), GEN_IPADD, ip->bytes.data(), ip->size)) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), critical ? 1 : 0,
                           X509V3_ADD_DEFAULT) == 1;
}

bool sign(X509* certificate, EVP_PKEY* key) {
  // Ed25519 and Ed448 have a built-in hash and reject a digest.
  const bool ownHash = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
  return X509_sign(certificate, key, ownHash ? nullptr : EVP_sha256()) > 0;
}

Result<PemPair> write(const X509& certificate, const EVP_PKEY& key) {
  auto certificatePem = writeCertificate(certificate);
  if (const auto* error = std::get_if<Error>(&certificatePem)) return *error;
  auto keyPem = writePrivateKey(key);
  if (const auto* error = std::get_if<Error>(&keyPem)) return *error;
  return PemPair{std::move(std::get<std::string>(certificatePem)), std::move(std::get<std::string>(keyPem))};
}

/// Makes a serving certificate that `authority` signs, or its own key if that is null.
Result<PemPair> makeLeaf(const SubjectNames& names, Time now, Time end, const Authority* authority) {
  const KeyPtr key{EVP_EC_gen("P-256")};
  const CertificatePtr certificate{X509_new()};
  if (!key || !certificate) return internal("P-256 key generation");
  X509* raw = certificate.get();
  X509* issuer = authority == nullptr ? raw : authority->certificate.get();
  const bool hasCommonName = !names.dns.empty() && names.dns.front().size() <= kMaxCommonName;
  const bool issuerHasKeyId = authority != nullptr && X509_get0_subject_key_id(issuer) != nullptr;
  const bool filled =
      X509_set_version(raw, kX509Version3) == 1 && setSerial(raw) &&
      setValidity(raw, now - kClockSkew, end) &&
      (!hasCommonName || addSubject(raw, "CN", names.dns.front())) &&
      X509_set_issuer_name(raw, X509_get_subject_name(issuer)) == 1 && X509_set_pubkey(raw, key.get()) == 1 &&
      addExtension(raw, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      addExtension(raw, issuer, NID_key_usage, "critical,digitalSignature") &&
      addExtension(raw, issuer, NID_ext_key_usage, "serverAuth") &&
      addExtension(raw, issuer, NID_subject_key_identifier, "hash") &&
      (!issuerHasKeyId || addExtension(raw, issuer, NID_authority_key_identifier, "keyid:always")) &&
      addAlternativeNames(raw, names, !hasCommonName);
  if (!filled || !sign(raw, authority == nullptr ? key.get() : authority->key.get()))
    return internal("making the serving certificate");
  return write(*raw, *key);
}

}  // namespace

Result<PemPair> makeCa(Time now, std::chrono::days lifetime) {
  const ErrorQueueScope errors;
  if (auto error = checkLifetime(lifetime)) return *error;
  const KeyPtr key{EVP_RSA_gen(kCaKeyBits)};
  const CertificatePtr certificate{X509_new()};
  if (!key || !certificate) return internal("RSA key generation");
  X509* raw = certificate.get();
  const bool filled = X509_set_version(raw, kX509Version3) == 1 && setSerial(raw) &&
                      setValidity(raw, now - kClockSkew, now + lifetime) &&
                      addSubject(raw, "O", kCaOrganization) && addSubject(raw, "CN", kCaName) &&
                      X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
                      X509_set_pubkey(raw, key.get()) == 1 &&
                      addExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE") &&
                      addExtension(raw, raw, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
                      addExtension(raw, raw, NID_subject_key_identifier, "hash") &&
                      addAlternativeNames(raw, {{kCaName}, {}}, false);
  if (!filled || !sign(raw, key.get())) return internal("making the CA certificate");
  return write(*raw, *key);
}

Result<PemPair> makeServing(const PemPair& ca, const SubjectNames& names, Time now,
                            std::chrono::days lifetime) {
  const ErrorQueueScope errors;
  if (auto error = checkNames(names)) return *error;
  if (auto error = checkLifetime(lifetime)) return *error;
  auto parsed = parseAuthority(ca);
  if (const auto* error = std::get_if<Error>(&parsed)) return *error;
  const Authority& authority = std::get<Authority>(parsed);
  X509* issuer = authority.certificate.get();
  const auto issuerEnd = notAfter(*issuer);
  if (!issuerEnd) return Error{Problem::Malformed, "ca.crt: notAfter is not a date"};
  if (*issuerEnd <= now) {
    return Error{Problem::Expired, fmt::format("ca.crt: expired on {}", formatTime(*issuerEnd))};
  }
  return makeLeaf(names, now, std::min<Time>(now + lifetime, *issuerEnd), &authority);
}

Result<PemPair> makeSelfSigned(const SubjectNames& names, Time now, std::chrono::days lifetime) {
  const ErrorQueueScope errors;
  if (auto error = checkNames(names)) return *error;
  if (auto error = checkLifetime(lifetime)) return *error;
  return makeLeaf(names, now, now + lifetime, nullptr);
}

}  // namespace dynamo::certs
