#pragma once

#include <memory>
#include <span>

#include "certs/error.h"
#include "certs/load.h"

struct ssl_ctx_st;  // SSL_CTX of <openssl/ssl.h>

namespace dynamo::certs {

/// Shared between the watcher and the connections. SSL_new takes a reference of its own, so a connection
/// keeps the context it started with while the next one gets the new certificate. Never changed after
/// makeServerContext returned it: OpenSSL does not lock a context against its connections.
using ServerContext = std::shared_ptr<ssl_ctx_st>;

/// OpenSSL security level 2, 112 bits: RSA below 2048 and SHA-1 signatures are refused.
inline constexpr int kSecurityLevel = 2;

struct TlsOptions {
  /// TLS 1.3 only by default; true adds TLS 1.2 with ECDHE and AEAD suites for an old API server.
  bool allowTls12 = false;
};

/// A context for the webhook server. Fixed policy, independent of the host's openssl.cnf:
/// - ALPN http/1.1 only. A client that offers other protocols alone gets no_application_protocol; one
///   without ALPN is served. HTTP/2 stays off for its reset-flood history.
/// - key exchange X25519, then P-256; server preference; no compression, no renegotiation, no early data.
/// - no session tickets and no session cache: the API server keeps its connections and does not resume, a
///   ticket would outlive the certificate it was made under, and each costs a write per handshake.
/// - client certificates are asked for only when `clientAuthorities` are given, never required: the API
/// server
///   presents one for admission if it is told to, and none for conversion. One that these CAs did not sign,
///   as a client's, ends the handshake. Without resumption each connection is verified by itself.
/// Errors: TooWeak, or Internal with OpenSSL's reason.
Result<ServerContext> makeServerContext(const ServingPair& pair, const TlsOptions& options,
                                        std::span<const CertificatePtr> clientAuthorities = {});

}  // namespace dynamo::certs
