// Client certificates: the trusted CAs, the result of the handshake, and the names that are read.

#include "certs/client_ca.h"

#include <openssl/err.h>

#include <catch2/catch.hpp>

#include "certs/files.h"
#include "certs/make.h"
#include "certs/watcher.h"
#include "tests/unit/certs/tls_support.h"

using namespace dynamo::certs;
using namespace dynamo::certs::test;

namespace {

const Forgery kCa{.commonName = "clients",
                  .basicConstraints = "critical,CA:TRUE",
                  .keyUsage = "critical,keyCertSign",
                  .extendedKeyUsage = "",
                  .alternativeNames = ""};
const Forgery kClient{.commonName = "kube-apiserver",
                      .extendedKeyUsage = "clientAuth",
                      .alternativeNames = "DNS:api.example,URI:spiffe://example/api,email:api@example.com"};

/// The server's view of the client after the handshake: "verified", "nobody", or the reason of the rejection.
std::string seen(SSL_CTX* server, const Client& client) {
  const Connection connection = connect(server, client);
  const long result = SSL_get_verify_result(connection.server.get());
  if (result != X509_V_OK) return X509_verify_cert_error_string(result);
  if (SSL_is_init_finished(connection.server.get()) != 1) return "unfinished";
  return SSL_get0_peer_certificate(connection.server.get()) == nullptr ? "nobody" : "verified";
}

}  // namespace

TEST_CASE("a client certificate is requested but optional, and the CA must have signed it") {
  const PemPair ca = forge(kCa);
  const PemPair other = forge(kCa);
  Forgery foreign = kCa;
  foreign.commonName = "another";
  Forgery middle = kCa;
  middle.commonName = "intermediate";
  const PemPair intermediate = forge(middle, &ca);
  Forgery late = kClient;
  late.end = kNow - seconds{1};
  Forgery serving = kClient;
  serving.extendedKeyUsage = "serverAuth";
  PemPair chained = forge(kClient, &intermediate);
  const PemPair unchained = chained;
  chained.certificate += intermediate.certificate;

  struct Row {
    const char* name;
    std::string cas;
    PemPair identity;
    std::string expected;
  };
  const Row rows[] = {
      {"none presented", ca.certificate, {}, "nobody"},
      {"signed by the CA", ca.certificate, forge(kClient, &ca), "verified"},
      {"one CA of several", forge(foreign).certificate + ca.certificate, forge(kClient, &ca), "verified"},
      {"signed by another CA of the same name", other.certificate, forge(kClient, &ca),
       "certificate signature failure"},
      {"self-signed", ca.certificate, forge(kClient), "self-signed certificate"},
      {"signed by an intermediate CA in the chain", ca.certificate, chained, "verified"},
      {"signed by an intermediate CA not in the chain", ca.certificate, unchained,
       "unable to get local issuer certificate"},
      {"signed by a trusted intermediate CA", intermediate.certificate, unchained, "verified"},
      {"expired", ca.certificate, forge(late, &ca), "certificate has expired"},
      {"a serving certificate", ca.certificate, forge(serving, &ca), "unsuitable certificate purpose"},
      {"no CA configured, none requested", "", forge(kClient, &ca), "nobody"},
  };
  const CertificateData data = makeData();
  for (const Row& row : rows) {
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      INFO(row.name << ' ' << version);
      const ServerContext context = serverContext(data.serving, {.allowTls12 = true}, row.cas);
      CHECK(seen(context.get(), {.maxVersion = version, .identity = row.identity}) == row.expected);
    }
  }
}

TEST_CASE("no session can be resumed when client certificates are requested") {
  const PemPair ca = forge(kCa);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const ServerContext context = serverContext(makeData().serving, {.allowTls12 = true}, ca.certificate);
    Connection connection = connect(context.get(), {.maxVersion = version, .identity = forge(kClient, &ca)});
    REQUIRE(connection.established);
    transfer(connection.server.get(), connection.client.get(), "x");
    CHECK(SSL_SESSION_has_ticket(SSL_get0_session(connection.client.get())) == 0);
    CHECK(SSL_CTX_sess_number(context.get()) == 0);
  }
}

TEST_CASE("the CAs of clients are not part of the server's chain") {
  const CertificateData data = makeData();
  const ServerContext context = serverContext(data.serving, {}, data.ca.certificate);
  const Connection connection = connect(context.get(), {});
  CHECK(sk_X509_num(SSL_get_peer_cert_chain(connection.client.get())) == 1);
}

TEST_CASE("a file of CAs") {
  const PemPair ca = forge(kCa);
  struct Row {
    std::string pem;
    Problem problem;
    std::string text;
  };
  for (const Row& row : {Row{ca.certificate, Problem::None, ""}, Row{"", Problem::Empty, "f: "},
                         Row{"x", Problem::NotPem, "f: "},
                         Row{ca.certificate + forge(kClient, &ca).certificate, Problem::WrongUsage,
                             "f: certificate 2 is not a CA"}}) {
    const auto loaded = loadClientAuthorities(row.pem, "f");
    CHECK(problemOf(loaded) == row.problem);
    if (const auto* error = std::get_if<Error>(&loaded)) CHECK(error->text.starts_with(row.text));
  }
}

TEST_CASE("names of a client certificate") {
  const CertificatePtr client = parse(forge(kClient).certificate);
  for (const std::string name :
       {"kube-apiserver", "api.example", "spiffe://example/api", "api@example.com"}) {
    INFO(name);
    CHECK(hasAnyName(*client, std::vector<std::string>{"other", name}));
  }
  for (const std::string name : {"kube-apiserver2", "kube", "KUBE-APISERVER", "example", "*.example", ""}) {
    INFO(name);
    CHECK_FALSE(hasAnyName(*client, std::vector<std::string>{name}));
  }
  CHECK_FALSE(hasAnyName(*client, {}));
  Forgery bare = kClient;
  bare.alternativeNames = "";
  CHECK(hasAnyName(*parse(forge(bare).certificate), std::vector<std::string>{"kube-apiserver"}));
}

TEST_CASE("the file of CAs is reloaded, and an invalid one changes nothing") {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "clients.crt";
  const CertificateData data = makeData();
  REQUIRE_FALSE(writeFiles(directory.path() / "certs", data, Overwrite::Refuse));
  const PemPair first = forge(kCa);
  const PemPair second = forge(kCa);
  const PemPair ofFirst = forge(kClient, &first);
  CertificateWatcher watcher{directory.path() / "certs", {}, {}, file};
  const auto poll = [&]() -> std::string {
    const auto event = watcher.poll(kNow);
    if (!event) return "nothing";
    return event->error ? std::string{toString(event->error->problem)} : "Loaded";
  };
  const auto client = [&](const PemPair& identity) {
    const ServerContext context = watcher.context();
    X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context.get()), kNow.time_since_epoch().count());
    return seen(context.get(), {.identity = identity});
  };

  CHECK(poll() == "Missing");  // nothing is served without the CAs of clients
  CHECK(watcher.context() == nullptr);
  CHECK_FALSE(watcher.ready(kNow));
  writeText(file, first.certificate);
  CHECK(poll() == "Loaded");
  CHECK(client(ofFirst) == "verified");
  CHECK(poll() == "nothing");

  for (const auto& [text, problem] : {std::pair{std::string{"rubbish"}, "NotPem"},
                                      {std::string{}, "Empty"},
                                      {forge(kClient).certificate, "WrongUsage"}}) {
    writeText(file, text);
    CHECK(poll() == problem);
    CHECK(watcher.failing());
    CHECK(client(ofFirst) == "verified");
  }
  writeText(file, second.certificate);
  CHECK(poll() == "Loaded");
  CHECK(client(ofFirst) == "certificate signature failure");
  CHECK(client(forge(kClient, &second)) == "verified");
}
