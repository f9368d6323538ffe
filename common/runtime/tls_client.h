#pragma once
// TLS contexts and sessions of clients.

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/wire.h"

namespace dynamo::runtime {

struct TlsClientOptions {
  /// CA certificates in PEM to verify servers. Empty: the CAs of the system.
  std::string_view authorities;
  /// If false, every server is trusted.
  bool verify = true;
  /// Client certificate chain and key in PEM. May be empty.
  std::string_view certificate;
  std::string_view key;
};

/// Shared by sessions. Never changes after its creation.
using ClientContext = std::shared_ptr<SSL_CTX>;

/// Creates a context with a fixed policy, independent of the host's openssl.cnf: TLS 1.3, or 1.2 with ECDHE
/// and AEAD suites; ALPN http/1.1; no resumption, no renegotiation. As in Kubernetes, an intermediate CA may
/// be trusted without its root, and only the SANs of a server are checked. The error message does not quote
/// the options.
std::variant<ClientContext, std::string> makeClientContext(const TlsClientOptions& options);

/// Creates a session over the socket. The server's certificate must be valid for `serverName`, a DNS name or
/// an IP address; empty accepts any name. Only a DNS name is sent (SNI). Returns nullptr if OpenSSL is out of
/// memory.
SslPtr newClientSession(const ClientContext& context, int fd, const std::string& serverName);

}  // namespace dynamo::runtime
