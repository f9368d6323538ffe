#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "certs/openssl.h"
#include "certs/tls_context.h"
#include "tests/unit/certs/support.h"

namespace dynamo::certs::test {

using ContextPtr = std::unique_ptr<SSL_CTX, OpensslDeleter<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslDeleter<SSL_free>>;

/// The options of a client; the defaults are those of a current API server.
struct Client {
  int minVersion = TLS1_2_VERSION;
  int maxVersion = TLS1_3_VERSION;
  std::vector<std::string> protocols = {"http/1.1"};
  std::string groups = "X25519:P-256:P-384";
  std::string ciphers = "ALL:@SECLEVEL=0";
  std::string caPem = "";  // verified at kNow when not empty
  std::string host = "svc.ns.svc";
  PemPair identity = {};  // presented when not empty
};

/// Both ends of an in-memory connection after the handshake has ended or made no more progress.
struct Connection {
  ContextPtr clientContext;
  SslPtr client;
  SslPtr server;
  bool established = false;
  std::string clientError;  // OpenSSL's reason at the client, which names the server's alert

  std::string version() const { return SSL_get_version(client.get()); }
  std::string cipher() const { return SSL_get_cipher_name(client.get()); }
  std::string protocol() const;
  /// The DER bytes of the served certificate.
  std::string peerCertificate() const;
};

Connection connect(SSL_CTX* server, const Client& client);

/// Sends `text` from one end to the other and returns the received text.
std::string transfer(SSL* from, SSL* to, const std::string& text);

/// `clientCas` is PEM. Clients are verified at kNow.
ServerContext serverContext(const PemPair& pair, const TlsOptions& options = {},
                            const std::string& clientCas = {});

}  // namespace dynamo::certs::test
