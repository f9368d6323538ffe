#include "certs/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace dynamo::certs {

namespace {

constexpr const char* kGroups = "X25519:P-256";
constexpr const char* kTls13Suites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kTls12Suites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

// Any client can send a chain, which is then parsed. A chain of four certificates has 8 KiB.
constexpr long kMaxClientChainBytes = 32L * 1024;

constexpr std::string_view kHttp11 = "http/1.1";

// `offered` is a list of length-prefixed names. OpenSSL has already checked that it is well-formed.
int selectProtocol(SSL*, const unsigned char** out, unsigned char* outLength, const unsigned char* offered,
                   unsigned length, void*) {
  for (unsigned at = 0; at < length;) {
    const unsigned size = offered[at];
    const unsigned char* name = offered + at + 1;
    if (size > length - at - 1) break;
    if (std::equal(name, name + size, kHttp11.begin(), kHttp11.end())) {
      *out = name;
      *outLength = static_cast<unsigned char>(size);
      return SSL_TLSEXT_ERR_OK;
    }
    at += size + 1;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

bool applyPolicy(SSL_CTX* context, const TlsOptions& options) {
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_alpn_select_cb(context, selectProtocol, nullptr);
  // In TLS 1.3 SSL_OP_NO_TICKET only selects stateful tickets. Setting their number to zero disables
  // resumption.
  return SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
         SSL_CTX_set_min_proto_version(context, options.allowTls12 ? TLS1_2_VERSION : TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, 0) == 1 && SSL_CTX_set1_groups_list(context, kGroups) == 1 &&
         SSL_CTX_set_ciphersuites(context, kTls13Suites) == 1 &&
         SSL_CTX_set_cipher_list(context, kTls12Suites) == 1;
}

bool requestClientCertificates(SSL_CTX* context, std::span<const CertificatePtr> authorities) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const CertificatePtr& each : authorities) {
    // The second call sends the names of the CAs to the client, so that it can choose a certificate.
    if (X509_STORE_add_cert(store, each.get()) != 1 || SSL_CTX_add_client_CA(context, each.get()) != 1)
      return false;
  }
  // As in Kubernetes, an intermediate CA may be trusted without the root above it.
  if (X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN) != 1) return false;
  // The store is for client certificates only. The server chain contains only the certificates of tls.crt.
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_max_cert_list(context, kMaxClientChainBytes);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return true;
}

bool isWeaknessReason(unsigned long code) {
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return false;
  constexpr std::array kReasons{SSL_R_EE_KEY_TOO_SMALL, SSL_R_CA_KEY_TOO_SMALL, SSL_R_CA_MD_TOO_WEAK};
  return std::find(kReasons.begin(), kReasons.end(), ERR_GET_REASON(code)) != kReasons.end();
}

bool usePair(SSL_CTX* context, const ServingPair& pair) {
  if (SSL_CTX_use_certificate(context, pair.chain.front().get()) != 1) return false;
  for (std::size_t i = 1; i < pair.chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, pair.chain[i].get()) != 1) return false;
  }
  return SSL_CTX_use_PrivateKey(context, pair.key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
}

}  // namespace

Result<ServerContext> makeServerContext(const ServingPair& pair, const TlsOptions& options,
                                        std::span<const CertificatePtr> clientAuthorities) {
  const ErrorQueueScope errors;
  ServerContext context{SSL_CTX_new(TLS_server_method()), SSL_CTX_free};
  if (!context || !applyPolicy(context.get(), options) ||
      (!clientAuthorities.empty() && !requestClientCertificates(context.get(), clientAuthorities))) {
    return Error{Problem::Internal, fmt::format("TLS context: {}", opensslReason())};
  }
  if (!usePair(context.get(), pair)) {
    const Problem problem = isWeaknessReason(ERR_peek_error()) ? Problem::TooWeak : Problem::Internal;
    return Error{problem, fmt::format("TLS context rejects the certificate chain: {}", opensslReason())};
  }
  return context;
}

}  // namespace dynamo::certs
