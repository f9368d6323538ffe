#include "common/runtime/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "common/runtime/socket_address.h"
#include "common/runtime/system_authorities.h"

namespace dynamo::runtime {
namespace {

// 112 bits: RSA keys below 2048 bits and SHA-1 signatures are rejected.
constexpr int kSecurityLevel = 2;
// The TLS 1.2 suites with authenticated encryption that API servers (Go) offer.
constexpr const char* kTls12Suites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
// PEM parsers may need quadratic time, see CVE-2024-12401. A bundle of a cluster's CAs has less than 20 KiB.
constexpr std::size_t kMaxPemBytes = std::size_t{256} << 10;
constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct CertificateFree {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, BioFree>;
using Certificate = std::unique_ptr<X509, CertificateFree>;
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;

/// Without this callback OpenSSL would ask for the password of an encrypted key on the terminal.
int refusePassword(char*, int, int, void*) {
  return -1;
}

/// Returns a BIO over `text`, or an empty BIO if the text is too long.
Bio memory(std::string_view text) {
  return Bio{BIO_new_mem_buf(text.data(), text.size() > kMaxPemBytes ? 0 : static_cast<int>(text.size()))};
}

Certificate nextCertificate(BIO* bio) {
  return Certificate{PEM_read_bio_X509(bio, nullptr, refusePassword, nullptr)};
}

/// Returns whether reading PEM blocks ended at the end of the text, and not with an error.
bool readToEnd() {
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  return ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
}

bool trustSystem(SSL_CTX* context) {
  const std::string bundle = systemBundle(
      [](const char* path) {
        std::error_code ignored;
        return std::filesystem::exists(path, ignored);
      },
      [](const char* name) { return std::getenv(name); });
  if (!bundle.empty()) return SSL_CTX_load_verify_file(context, bundle.c_str()) == 1;
  return SSL_CTX_set_default_verify_paths(context) == 1;
}

bool trust(SSL_CTX* context, std::string_view authorities) {
  if (authorities.empty()) return trustSystem(context);
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  const Bio bio = memory(authorities);
  bool any = false;
  while (const Certificate each = nextCertificate(bio.get())) {
    if (X509_STORE_add_cert(store, each.get()) != 1) return false;
    any = true;
  }
  return readToEnd() && any;
}

bool presentCertificate(SSL_CTX* context, std::string_view pem) {
  const Bio bio = memory(pem);
  const Certificate own = nextCertificate(bio.get());
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
  while (const Certificate above = nextCertificate(bio.get())) {
    if (SSL_CTX_add1_chain_cert(context, above.get()) != 1) return false;
  }
  return readToEnd();
}

bool presentKey(SSL_CTX* context, std::string_view pem) {
  const Key key{PEM_read_bio_PrivateKey(memory(pem).get(), nullptr, refusePassword, nullptr)};
  return key && SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
}

bool applyPolicy(SSL_CTX* context, bool verify) {
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  return X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN) == 1 &&
         SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, 0) == 1 &&
         SSL_CTX_set_cipher_list(context, kTls12Suites) == 1 &&
         SSL_CTX_set_alpn_protos(context, kProtocols.data(), kProtocols.size()) == 0;
}

bool expectName(SSL* ssl, const std::string& name) {
  if (name.empty()) return true;
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
  if (isIpAddress(name)) return X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(wanted,
                                  X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) == 1 &&
         // Not SSL_set_tlsext_host_name, which is a macro with C casts.
         SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                  const_cast<char*>(name.c_str())) == 1;
}

}  // namespace

std::variant<ClientContext, std::string> makeClientContext(const TlsClientOptions& options) {
  ERR_clear_error();
  ClientContext context{SSL_CTX_new(TLS_client_method()), SSL_CTX_free};
  const auto failed = [](const char* what) {
    ERR_clear_error();
    return std::string{what};
  };
  if (!context || !applyPolicy(context.get(), options.verify)) return failed("cannot create a TLS client");
  if (options.verify && !trust(context.get(), options.authorities)) {
    return failed("the CA certificates cannot be read");
  }
  if (!options.certificate.empty() && !presentCertificate(context.get(), options.certificate)) {
    return failed("the client certificate cannot be used");
  }
  if (!options.certificate.empty() && !presentKey(context.get(), options.key)) {
    return failed("the key of the client certificate cannot be used");
  }
  return context;
}

SslPtr newClientSession(const ClientContext& context, int fd, const std::string& serverName) {
  Wire::clearErrors();
  auto ssl = newClientSession(context.get(), fd);
  if (ssl && !expectName(ssl.get(), serverName)) return nullptr;
  return ssl;
}

}  // namespace dynamo::runtime
