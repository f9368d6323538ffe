#pragma once
// What TLS clients trust and present.

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/wire.h"

namespace dynamo::runtime {

struct TlsClientOptions {
  /// CAs in PEM that servers are verified against. Empty: those of the system.
  std::string_view authorities;
  /// false: any server is trusted.
  bool verify = true;
  /// Certificate (and chain) and key in PEM that are presented. Empty: none.
  std::string_view certificate;
  std::string_view key;
};

/// Shared by sessions; never changed once it is made.
using ClientContext = std::shared_ptr<SSL_CTX>;

/// A fixed policy, independent of the host's openssl.cnf: TLS 1.3, or 1.2 with ECDHE and AEAD suites; ALPN
/// http/1.1; no resumption, no renegotiation. As in Kubernetes, an intermediate CA may be trusted without the
/// root above it, and a server is known by its SANs alone. The error is one sentence without what a file
/// holds.
std::variant<ClientContext, std::string> makeClientContext(const TlsClientOptions& options);

/// A session over the socket that wants a certificate for `serverName`, a DNS name or an IP address; only a
/// DNS name is sent (SNI). Empty: any name will do. nullptr when OpenSSL is out of memory.
SslPtr newClientSession(const ClientContext& context, int fd, const std::string& serverName);

}  // namespace dynamo::runtime
