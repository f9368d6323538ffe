#include "tests/unit/certs/tls_support.h"

#include <openssl/err.h>

#include <stdexcept>

#include "certs/client_ca.h"
#include "certs/load.h"

namespace dynamo::certs::test {

namespace {

ContextPtr clientContext(const Client& options) {
  ContextPtr context{SSL_CTX_new(TLS_client_method())};
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), options.minVersion);
  SSL_CTX_set_max_proto_version(context.get(), options.maxVersion);
  std::string wire;
  for (const std::string& protocol : options.protocols) wire += static_cast<char>(protocol.size()) + protocol;
  if (!wire.empty()) {
    SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                            static_cast<unsigned>(wire.size()));
  }
  if (SSL_CTX_set1_groups_list(context.get(), options.groups.c_str()) != 1 ||
      SSL_CTX_set_cipher_list(context.get(), options.ciphers.c_str()) != 1) {
    throw std::runtime_error("bad client options");
  }
  if (!options.caPem.empty()) {
    const CertificatePtr ca = parse(options.caPem);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get());
    X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_time(parameters, kNow.time_since_epoch().count());
    X509_VERIFY_PARAM_set1_host(parameters, options.host.c_str(), options.host.size());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  }
  if (!options.identity.certificate.empty()) {
    const auto chain = must(parseCertificates(options.identity.certificate, "client.crt"));
    const KeyPtr key = must(parsePrivateKey(options.identity.privateKey, "client.key"));
    SSL_CTX_use_certificate(context.get(), chain.front().get());
    for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context.get(), chain[i].get());
    SSL_CTX_use_PrivateKey(context.get(), key.get());
  }
  return context;
}

bool wantsMore(const SSL* ssl, int result) {
  const int error = SSL_get_error(ssl, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

}  // namespace

std::string Connection::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(client.get(), &name, &size);
  return std::string{name, name + size};
}

std::string Connection::peerCertificate() const {
  const CertificatePtr leaf{SSL_get1_peer_certificate(client.get())};
  return leaf ? must(writeCertificate(*leaf)) : "";
}

Connection connect(SSL_CTX* server, const Client& options) {
  Connection connection;
  connection.clientContext = clientContext(options);
  connection.client.reset(SSL_new(connection.clientContext.get()));
  connection.server.reset(SSL_new(server));
  BIO* clientSide = nullptr;
  BIO* serverSide = nullptr;
  BIO_new_bio_pair(&clientSide, 0, &serverSide, 0);
  SSL_set_bio(connection.client.get(), clientSide, clientSide);
  SSL_set_bio(connection.server.get(), serverSide, serverSide);
  SSL_set_connect_state(connection.client.get());
  SSL_set_accept_state(connection.server.get());
  bool clientRuns = true;
  bool serverRuns = true;
  for (int round = 0; round < 20 && (clientRuns || serverRuns); ++round) {
    ERR_clear_error();
    if (const int result = SSL_do_handshake(connection.client.get()); result != 1) {
      if (!wantsMore(connection.client.get(), result)) {
        connection.clientError = opensslReason();
        clientRuns = false;
      }
    } else {
      clientRuns = false;
    }
    ERR_clear_error();
    if (const int result = SSL_do_handshake(connection.server.get()); result == 1) {
      serverRuns = false;
    } else if (!wantsMore(connection.server.get(), result)) {
      // One more step lets the client read the alert.
      serverRuns = false;
      clientRuns = clientRuns && round < 19;
    }
  }
  connection.established = SSL_is_init_finished(connection.client.get()) == 1 &&
                           SSL_is_init_finished(connection.server.get()) == 1 &&
                           connection.clientError.empty();
  ERR_clear_error();
  return connection;
}

std::string transfer(SSL* from, SSL* to, const std::string& text) {
  ERR_clear_error();
  if (SSL_write(from, text.data(), static_cast<int>(text.size())) <= 0) return {};
  std::string got(text.size(), '\0');
  const int size = SSL_read(to, got.data(), static_cast<int>(got.size()));
  got.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return got;
}

ServerContext serverContext(const PemPair& pair, const TlsOptions& options, const std::string& clientCas) {
  std::vector<CertificatePtr> authorities;
  if (!clientCas.empty()) authorities = must(loadClientAuthorities(clientCas, "clients.crt"));
  ServerContext context =
      must(makeServerContext(must(loadServingPair(pair, "tls.crt", "tls.key", kNow)), options, authorities));
  X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context.get()), kNow.time_since_epoch().count());
  return context;
}

}  // namespace dynamo::certs::test
