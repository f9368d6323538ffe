// The servers that the TLS client trusts, and the identity that it presents.

#include "common/runtime/tls_client.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "client_support.h"

namespace dynamo::runtime::test {
namespace {

using Change = std::function<void(SSL_CTX*)>;

}  // namespace

TEST_CASE("the certificate must be signed by a trusted CA, match the name and be valid now") {
  const Authority sameName;
  const Authority other{"another CA"};
  struct Row {
    const char* about;
    certs::PemPair pair;
    std::string serverName;
    std::string trusted;
    std::string reason;  // empty: accepted
  };
  const std::string expired = "TLS failed: certificate verify failed: certificate has expired";
  const std::string wrongHost = "TLS failed: certificate verify failed: hostname mismatch";
  const std::vector<Row> rows{
      {"a DNS name", goodPair(), "localhost", authority().pem(), ""},
      {"an IP address", goodPair(), "127.0.0.1", authority().pem(), ""},
      {"no name to verify", goodPair(), "", authority().pem(), ""},
      {"the right CA is one of several", goodPair(), "localhost", other.pem() + authority().pem(), ""},
      {"the certificate itself is trusted", goodPair(), "localhost", goodPair().certificate, ""},
      {"another CA", goodPair(), "localhost", other.pem(),
       "TLS failed: certificate verify failed: unable to get local issuer certificate"},
      {"another CA of the same name", goodPair(), "localhost", sameName.pem(),
       "TLS failed: certificate verify failed: certificate signature failure"},
      {"the CAs of the system", goodPair(), "localhost", "",
       "TLS failed: certificate verify failed: unable to get local issuer certificate"},
      {"another DNS name", goodPair(), "kubernetes.default.svc", authority().pem(), wrongHost},
      {"another IP address", goodPair(), "127.0.0.2", authority().pem(),
       "TLS failed: certificate verify failed: IP address mismatch"},
      {"the name is only in the subject", authority().sign("DNS:other"), "forged", authority().pem(),
       wrongHost},
      {"expired", authority().sign("DNS:localhost", -60s), "localhost", authority().pem(), expired},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    ScriptedPeer peer{row.pair, answers(ok("hi"))};
    const Outcome outcome = ask(peer, {.serverName = row.serverName, .context = trusting(row.trusted)});
    CHECK(outcome.reply.has_value() == row.reason.empty());
    CHECK(outcome.error.message == row.reason);
    if (row.reason.empty()) continue;
    CHECK(outcome.error.stage == Stage::Handshake);
    CHECK(nameOf(outcome.error.problem) == "Untrusted");
  }
}

TEST_CASE("without verification any certificate is accepted") {
  ScriptedPeer peer{authority().sign("DNS:other", -60s), answers(ok("hi"))};
  auto context = makeClientContext({.authorities = {}, .verify = false, .certificate = {}, .key = {}});
  CHECK(ask(peer, {.context = std::get<ClientContext>(context)}).reply);
}

TEST_CASE("the client sends server name, protocol and certificate") {
  Noted name;
  Noted protocol;
  Noted subject;
  const certs::PemPair own = authority().sign("DNS:client");
  const Change change = [](SSL_CTX* context) {
    SSL_CTX_set_alpn_select_cb(
        context,
        [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in_, unsigned length,
           void*) {
          *out = in_ + 1;
          *size = in_[0];
          return length == 9 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
        },
        nullptr);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  };
  ScriptedPeer peer{goodPair(),
                    [&](PeerConnection& connection) {
                      if (connection.request().empty()) return;
                      const char* sent = SSL_get_servername(connection.ssl(), TLSEXT_NAMETYPE_host_name);
                      name.set(sent == nullptr ? "none" : sent);
                      const unsigned char* text = nullptr;
                      unsigned size = 0;
                      SSL_get0_alpn_selected(connection.ssl(), &text, &size);
                      protocol.set({text, text + size});
                      subject.set(SSL_get0_peer_certificate(connection.ssl()) == nullptr ? "none" : "given");
                      connection.send(ok(""));
                      connection.goodbye();
                    },
                    change};
  auto context = makeClientContext({.authorities = authority().pem(),
                                    .verify = true,
                                    .certificate = own.certificate,
                                    .key = own.privateKey});
  REQUIRE(ask(peer, {.context = std::get<ClientContext>(context)}).reply);
  CHECK(name.get() == "localhost");
  CHECK(protocol.get() == "http/1.1");
  CHECK(subject.get() == "given");
  REQUIRE(ask(peer, {.serverName = "127.0.0.1"}).reply);
  CHECK(name.get() == "none");  // an IP address is not sent as server name
  CHECK(subject.get() == "none");
}

TEST_CASE("the reason of a server's rejection is reported") {
  struct Row {
    const char* about;
    Change change;
    Stage stage;
    std::string message;
  };
  const std::vector<Row> rows{
      {"the server requires a certificate, TLS 1.2",
       [](SSL_CTX* context) {
         SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
         SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
       },
       Stage::Handshake, "TLS failed: remote error: handshake failure"},
      {"the server only has TLS 1.1",
       [](SSL_CTX* context) {
         SSL_CTX_set_security_level(context, 0);
         SSL_CTX_set_min_proto_version(context, TLS1_1_VERSION);
         SSL_CTX_set_max_proto_version(context, TLS1_1_VERSION);
       },
       Stage::Handshake, "TLS failed: remote error: protocol version"},
      {"no common cipher",
       [](SSL_CTX* context) {
         SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
         SSL_CTX_set_cipher_list(context, "ECDHE-ECDSA-AES128-SHA");
       },
       Stage::Handshake, "TLS failed: remote error: handshake failure"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    ScriptedPeer peer{goodPair(), answers(ok("hi")), row.change};
    const Outcome outcome = ask(peer);
    CHECK_FALSE(outcome.reply);
    CHECK(outcome.error.stage == row.stage);
    CHECK(nameOf(outcome.error.problem) == "Tls");
    CHECK(outcome.error.message == row.message);
  }
}

TEST_CASE("a server of TLS 1.3 that rejects the client's certificate says why after the handshake") {
  const Authority other{"another CA"};
  const certs::PemPair foreign = other.sign("DNS:client");
  struct Row {
    const char* about;
    const certs::PemPair* pair;  // nullptr: none
    std::string message;
  };
  const std::vector<Row> rows{
      {"no certificate", nullptr, "TLS failed: remote error: certificate required"},
      {"a certificate of an unknown CA", &foreign, "TLS failed: remote error: unknown ca"},
  };
  const Change change = [](SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    TlsClientOptions options{.authorities = authority().pem(), .verify = true, .certificate = {}, .key = {}};
    if (row.pair != nullptr) {
      options.certificate = row.pair->certificate;
      options.key = row.pair->privateKey;
    }
    auto context = makeClientContext(options);
    ScriptedPeer peer{goodPair(), answers(ok("hi")), change};
    // The request is sent before or after the server has closed the connection.
    for (const auto pause : {0ms, 100ms}) {
      CAPTURE(pause.count());
      EventLoop loop;
      const auto run = [&]() -> Task<void> {
        auto opened =
            co_await ClientSession::open(loop, targetOf(peer), std::get<ClientContext>(context), in(8s));
        REQUIRE(std::holds_alternative<ClientSession>(opened));
        static_cast<void>(co_await loop.sleepUntil(in(pause)));
        auto reply = co_await std::get<ClientSession>(opened).exchange({}, 100, in(8s));
        REQUIRE(std::holds_alternative<TransportError>(reply));
        const TransportError& error = std::get<TransportError>(reply);
        CHECK(nameOf(error.problem) == "Tls");
        CHECK(error.message == row.message);
        CHECK_FALSE(error.stale);
      };
      loop.spawn(run());
      loop.run();
    }
  }
}

TEST_CASE("a context requires valid certificates and keys") {
  const certs::PemPair own = authority().sign("DNS:client");
  const std::string& ca = authority().pem();
  const certs::PemPair other = authority().sign("DNS:other");
  struct Row {
    const char* about;
    TlsClientOptions options;
    std::string error;
  };
  const std::string badCa = "the CA certificates cannot be read";
  const std::string badCertificate = "the client certificate cannot be used";
  const std::string badKey = "the key of the client certificate cannot be used";
  const std::string cut = ca + ca.substr(0, ca.size() / 2);
  const std::string long_ = ca + std::string(300'000, '\n');
  const std::vector<Row> rows{
      {"no PEM", {.authorities = "x", .verify = true, .certificate = {}, .key = {}}, badCa},
      {"a key", {.authorities = own.privateKey, .verify = true, .certificate = {}, .key = {}}, badCa},
      {"the second certificate is truncated",
       {.authorities = cut, .verify = true, .certificate = {}, .key = {}},
       badCa},
      {"too long", {.authorities = long_, .verify = true, .certificate = {}, .key = {}}, badCa},
      {"no certificate",
       {.authorities = ca, .verify = true, .certificate = "x", .key = own.privateKey},
       badCertificate},
      {"no key", {.authorities = ca, .verify = true, .certificate = own.certificate, .key = {}}, badKey},
      {"another key",
       {.authorities = ca, .verify = true, .certificate = own.certificate, .key = other.privateKey},
       badKey},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const auto made = makeClientContext(row.options);
    REQUIRE(std::holds_alternative<std::string>(made));
    CHECK(std::get<std::string>(made) == row.error);
  }
}

}  // namespace dynamo::runtime::test
