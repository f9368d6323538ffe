#include "tests/unit/certs/support.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "certs/make.h"
#include "certs/names.h"

namespace dynamo::certs::test {

namespace {

std::string textOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

KeyPtr makeKey(const std::string& type) {
  const std::string argument = type.substr(type.find(':') + 1);
  if (!type.starts_with("RSA")) return KeyPtr{EVP_EC_gen(argument.c_str())};
  // Creating an RSA key takes up to a second, so all forgeries share one key per size.
  static std::map<std::string, KeyPtr> keys;
  KeyPtr& key = keys[argument];
  if (!key) key.reset(EVP_RSA_gen(static_cast<unsigned>(std::stoul(argument))));
  EVP_PKEY_up_ref(key.get());
  return KeyPtr{key.get()};
}

void addExtension(X509* certificate, X509* issuer, int nid, const std::string& text) {
  if (text.empty()) return;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, text.c_str());
  if (extension == nullptr) throw std::runtime_error("bad extension: " + text);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "dynamo-certs-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void writeText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream{path, std::ios::binary} << text;
}

std::string readText(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

CertificatePtr parse(const std::string& pem) {
  return std::move(must(parseCertificates(pem, "test")).front());
}

CertificateData makeData(Time at, const std::string& service, const std::string& namespaceName) {
  // Creating an RSA key takes longer than the rest of most tests.
  static std::map<Time, PemPair> authorities;
  const auto [known, fresh] = authorities.try_emplace(at);
  if (fresh) known->second = must(makeCa(at));
  CertificateData data;
  data.ca = known->second;
  data.serving = must(makeServing(data.ca, {servingDnsNames(service, namespaceName), {}}, at));
  return data;
}

PemPair forge(const Forgery& forgery, const PemPair* issuer) {
  const KeyPtr key = makeKey(forgery.keyType);
  const CertificatePtr certificate{X509_new()};
  const CertificatePtr issuerCertificate = issuer ? parse(issuer->certificate) : nullptr;
  const KeyPtr issuerKey = issuer ? must(parsePrivateKey(issuer->privateKey, "test")) : nullptr;
  X509* raw = certificate.get();
  X509* signer = issuer ? issuerCertificate.get() : raw;
  X509_set_version(raw, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(raw), 1);
  ASN1_TIME_set(X509_getm_notBefore(raw), forgery.begin.time_since_epoch().count());
  ASN1_TIME_set(X509_getm_notAfter(raw), forgery.end.time_since_epoch().count());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(forgery.commonName.c_str()), -1, -1, 0);
  X509_set_issuer_name(raw, X509_get_subject_name(signer));
  X509_set_pubkey(raw, key.get());
  addExtension(raw, signer, NID_basic_constraints, forgery.basicConstraints);
  addExtension(raw, signer, NID_key_usage, forgery.keyUsage);
  addExtension(raw, signer, NID_ext_key_usage, forgery.extendedKeyUsage);
  addExtension(raw, signer, NID_subject_alt_name, forgery.alternativeNames);
  if (X509_sign(raw, issuer ? issuerKey.get() : key.get(), EVP_sha256()) <= 0)
    throw std::runtime_error("sign");
  return {must(writeCertificate(*raw)), must(writePrivateKey(*key))};
}

std::string traditionalKey(const std::string& pem) {
  const KeyPtr key = must(parsePrivateKey(pem, "test"));
  const BioPtr bio{BIO_new(BIO_s_mem())};
  PEM_write_bio_PrivateKey_traditional(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return textOf(bio.get());
}

std::string encryptedKey(const std::string& pem) {
  const KeyPtr key = must(parsePrivateKey(pem, "test"));
  const BioPtr bio{BIO_new(BIO_s_mem())};
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), "pass", 4, nullptr, nullptr);
  return textOf(bio.get());
}

std::string extensionText(const X509& certificate, int nid) {
  const int index = X509_get_ext_by_NID(&certificate, nid, -1);
  if (index < 0) return {};
  X509_EXTENSION* extension = X509_get_ext(&certificate, index);
  const BioPtr bio{BIO_new(BIO_s_mem())};
  X509V3_EXT_print(bio.get(), extension, 0, 0);
  const std::string critical = X509_EXTENSION_get_critical(extension) == 1 ? "critical, " : "";
  return critical + textOf(bio.get());
}

}  // namespace dynamo::certs::test
