#include <openssl/err.h>

#include <catch2/catch.hpp>

#include "certs/load.h"
#include "certs/make.h"
#include "tests/unit/certs/tls_support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

constexpr TlsOptions kWith12{.allowTls12 = true};

}  // namespace

TEST_CASE("a current API server gets TLS 1.3, http/1.1 and a verified chain") {
  const CertificateData data = makeData();
  const ServerContext context = serverContext(data.serving);
  const Connection connection =
      connect(context.get(), {.protocols = {"h2", "http/1.1"}, .caPem = data.ca.certificate});
  INFO(connection.clientError);
  REQUIRE(connection.established);
  CHECK(connection.version() == "TLSv1.3");
  CHECK(connection.protocol() == "http/1.1");
  CHECK(transfer(connection.client.get(), connection.server.get(), "request") == "request");
  CHECK(transfer(connection.server.get(), connection.client.get(), "response") == "response");
  CHECK_FALSE(connect(context.get(), {.caPem = data.ca.certificate, .host = "other.ns.svc"}).established);
  CHECK_FALSE(connect(context.get(), {.caPem = must(makeCa(kNow)).certificate}).established);
}

TEST_CASE("protocol versions") {
  struct Row {
    TlsOptions server;
    int client;  // the only version the client speaks
    bool established;
  };
  const PemPair pair = makeData().serving;
  for (const Row& row :
       {Row{{}, TLS1_3_VERSION, true}, Row{{}, TLS1_2_VERSION, false}, Row{{}, TLS1_1_VERSION, false},
        Row{kWith12, TLS1_3_VERSION, true}, Row{kWith12, TLS1_2_VERSION, true},
        Row{kWith12, TLS1_1_VERSION, false}, Row{kWith12, TLS1_VERSION, false}}) {
    const Connection connection =
        connect(serverContext(pair, row.server).get(), {.minVersion = row.client, .maxVersion = row.client});
    INFO(row.server.allowTls12 << " " << row.client << " " << connection.clientError);
    CHECK(connection.established == row.established);
    if (!row.established) CHECK(connection.clientError == "tlsv1 alert protocol version");
  }
}

TEST_CASE("TLS 1.2, enabled by flag, only has ECDHE with AEAD") {
  struct Row {
    const char* keyType;
    const char* cipher;
    bool established;
  };
  for (const Row& row :
       {Row{"EC:P-256", "ECDHE-ECDSA-AES128-GCM-SHA256", true},
        Row{"EC:P-256", "ECDHE-ECDSA-AES256-GCM-SHA384", true},
        Row{"EC:P-256", "ECDHE-ECDSA-CHACHA20-POLY1305", true},
        Row{"EC:P-256", "ECDHE-ECDSA-AES128-SHA256", false}, Row{"EC:P-256", "ECDHE-ECDSA-AES256-SHA", false},
        Row{"EC:P-256", "ECDHE-ECDSA-AES128-CCM", false},
        Row{"RSA:2048", "ECDHE-RSA-AES128-GCM-SHA256", true}, Row{"RSA:2048", "ECDHE-RSA-AES128-SHA", false},
        Row{"RSA:2048", "AES128-GCM-SHA256", false}, Row{"RSA:2048", "DHE-RSA-AES128-GCM-SHA256", false}}) {
    const ServerContext context = serverContext(forge({.keyType = row.keyType}), kWith12);
    const Connection connection = connect(
        context.get(), {.maxVersion = TLS1_2_VERSION, .ciphers = std::string{row.cipher} + ":@SECLEVEL=0"});
    INFO(row.cipher << " " << connection.clientError);
    CHECK(connection.established == row.established);
    if (row.established) CHECK(connection.cipher() == row.cipher);
  }
}

TEST_CASE("the server's cipher order is used") {
  const ServerContext context = serverContext(makeData().serving, kWith12);
  const Connection connection =
      connect(context.get(), {.maxVersion = TLS1_2_VERSION,
                              .ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256"});
  CHECK(connection.cipher() == "ECDHE-ECDSA-AES128-GCM-SHA256");
}

TEST_CASE("ALPN selects http/1.1 or nothing") {
  struct Row {
    std::vector<std::string> offered;
    bool established;
    std::string selected;
  };
  for (const TlsOptions& options : {TlsOptions{}, kWith12}) {
    const ServerContext context = serverContext(makeData().serving, options);
    for (const Row& row :
         {Row{{"http/1.1"}, true, "http/1.1"}, Row{{"h2", "http/1.1"}, true, "http/1.1"}, Row{{}, true, ""},
          Row{{"h2"}, false, ""}, Row{{"http/1.0"}, false, ""}, Row{{"http/1.1x", "xhttp/1.1"}, false, ""}}) {
      const Connection connection = connect(
          context.get(),
          {.maxVersion = options.allowTls12 ? TLS1_2_VERSION : TLS1_3_VERSION, .protocols = row.offered});
      INFO(connection.clientError);
      CHECK(connection.established == row.established);
      CHECK(connection.protocol() == row.selected);
      if (!row.established) CHECK(connection.clientError == "tlsv1 alert no application protocol");
    }
  }
}

TEST_CASE("key exchange groups") {
  const ServerContext context = serverContext(makeData().serving);
  const auto group = [&](const std::string& offered) {
    const Connection connection = connect(context.get(), {.groups = offered});
    return connection.established ? SSL_get_negotiated_group(connection.client.get()) : 0L;
  };
  CHECK(group("X25519:P-256") == NID_X25519);
  CHECK(group("P-256") == NID_X9_62_prime256v1);
  CHECK(group("P-384:P-256") == NID_X9_62_prime256v1);
  CHECK(group("P-384") == 0);
}

TEST_CASE("certificates of other key types are served") {
  for (const char* type : {"EC:P-384", "EC:P-521", "RSA:2048"}) {
    INFO(type);
    CHECK(connect(serverContext(forge({.keyType = type})).get(), {}).established);
  }
}

TEST_CASE("a key below the security level is rejected with a reason") {
  const ServingPair pair = must(loadServingPair(forge({.keyType = "RSA:1024"}), "tls.crt", "tls.key", kNow));
  const auto context = makeServerContext(pair, {});
  REQUIRE(problemOf(context) == Problem::TooWeak);
  CHECK(std::get<Error>(context).text == "TLS context rejects the certificate chain: ee key too small");
  CHECK(ERR_peek_error() == 0);
}

TEST_CASE("no session can be resumed") {
  for (const TlsOptions& options : {TlsOptions{}, kWith12}) {
    const ServerContext context = serverContext(makeData().serving, options);
    Connection connection =
        connect(context.get(), {.maxVersion = options.allowTls12 ? TLS1_2_VERSION : TLS1_3_VERSION});
    REQUIRE(connection.established);
    // Reading once would pick up a TLS 1.3 ticket.
    transfer(connection.server.get(), connection.client.get(), "x");
    const SSL_SESSION* session = SSL_get0_session(connection.client.get());
    CHECK(SSL_SESSION_has_ticket(session) == 0);
    CHECK(SSL_CTX_sess_number(context.get()) == 0);
  }
}

TEST_CASE("renegotiation is rejected") {
  const ServerContext context = serverContext(makeData().serving, kWith12);
  const Connection connection = connect(context.get(), {.maxVersion = TLS1_2_VERSION});
  REQUIRE(connection.established);
  SSL* client = connection.client.get();
  REQUIRE(SSL_renegotiate(client) == 1);
  SSL_do_handshake(client);
  char byte = 0;
  CHECK(SSL_read(connection.server.get(), &byte, 1) <= 0);
  CHECK(SSL_do_handshake(client) <= 0);
  CHECK(opensslReason() == "no renegotiation");
  ERR_clear_error();
}
