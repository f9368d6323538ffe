#pragma once

#include <memory>
#include <span>

#include "certs/error.h"
#include "certs/load.h"

struct ssl_ctx_st;  // SSL_CTX of <openssl/ssl.h>

namespace dynamo::certs {

/// Shared by the watcher and the connections. SSL_new takes a reference, so a connection keeps its context
/// while later connections get a new certificate. The context never changes after makeServerContext has
/// returned it, because OpenSSL does not synchronize changes with connections.
using ServerContext = std::shared_ptr<ssl_ctx_st>;

/// OpenSSL security level 2 (112 bits) rejects RSA keys below 2048 bits and SHA-1 signatures.
inline constexpr int kSecurityLevel = 2;

struct TlsOptions {
  /// By default only TLS 1.3 is allowed. True also allows TLS 1.2 with ECDHE and AEAD suites, for old API
  /// servers.
  bool allowTls12 = false;
};

/// Makes a context for the webhook server. The policy is fixed and independent of the host's openssl.cnf:
/// - ALPN http/1.1 only. A client that offers only other protocols gets the alert no_application_protocol. A
/// client
///   without ALPN is accepted. HTTP/2 is not offered because of reset-flood attacks.
/// - Key exchange X25519, then P-256; server preference; no compression, no renegotiation, no early data.
/// - No session tickets and no session cache. The API server keeps its connections open and does not resume
/// sessions. A
///   ticket could outlive its certificate and would cost a write per handshake.
/// - Client certificates are requested only if `clientAuthorities` is not empty, and never required. The API
/// server
///   presents one for admission if configured, but none for conversion. A certificate that these CAs did not
///   sign for a client ends the handshake. Each connection is verified separately, because sessions are not
///   resumed.
/// Errors: TooWeak, or Internal with OpenSSL's reason.
Result<ServerContext> makeServerContext(const ServingPair& pair, const TlsOptions& options,
                                        std::span<const CertificatePtr> clientAuthorities = {});

}  // namespace dynamo::certs
