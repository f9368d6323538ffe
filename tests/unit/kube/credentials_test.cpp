// Token files, client certificates, and credential plugins.

#include "controller/kube/credentials.h"

#include <openssl/ssl.h>

#include <atomic>
#include <chrono>

#include "controller/plugin/credentials/exec_runner.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

using std::chrono::system_clock;

/// A server that accepts a single token, which may change.
ApiServer::Handler accepts(const runtime::test::Noted& token) {
  return [&token](const std::string& request, int) {
    return headerOf(request, "Authorization") == "Bearer " + token.get() ? ok("{}")
                                                                         : failure(401, "Unauthorized");
  };
}

/// Returns a plugin that counts its runs in a file and prints `status`. $N is the number of the run.
Credentials::Plugin pluginIn(const certs::test::TemporaryDirectory& folder, const std::string& status) {
  const std::string runs = (folder.path() / "runs").string();
  ExecPlugin plugin;
  plugin.apiVersion = "client.authentication.k8s.io/v1";
  plugin.command = "sh";
  plugin.arguments = {"-c", "printf x >>" + runs + "; N=$(wc -c <" + runs +
                                "); printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
                                "\"kind\":\"ExecCredential\",\"status\":%s}' \"" +
                                status + "\""};
  return {std::move(plugin), dynamo::plugin::runExecPlugin};
}

std::size_t runsIn(const certs::test::TemporaryDirectory& folder) {
  return certs::test::readText(folder.path() / "runs").size();
}

std::string tokenFrom(const Result<Authentication>& got) {
  const auto* error = std::get_if<ApiError>(&got);
  return error == nullptr ? std::get<Authentication>(got).token : "! " + error->message;
}

/// Returns a certificate that is valid now.
certs::PemPair forgedNow(certs::test::Forgery forgery, const certs::PemPair* issuer = nullptr) {
  const auto now = std::chrono::floor<std::chrono::seconds>(system_clock::now());
  forgery.begin = now - std::chrono::hours{1};
  forgery.end = now + std::chrono::hours{1};
  return certs::test::forge(forgery, issuer);
}

constexpr const char* kNumbered = R"({\"token\":\"run-$N\"})";

}  // namespace

TEST_CASE("a token file is read again after a 401") {
  const certs::test::TemporaryDirectory folder;
  certs::test::writeText(folder.path() / "token", "first");
  runtime::test::Noted wanted;
  wanted.set("first");
  ApiServer server{accepts(wanted)};
  RestConfig config = server.config();
  Credentials::Parts parts;
  parts.token = TextSource::ofFile((folder.path() / "token").string());
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  std::vector<std::string> results;
  withClient(config, [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    wanted.set("second");
    co_await getOnce(client, results);  // the file has not changed, so the request is not retried
    CHECK(server.requests().size() == 2);
    certs::test::writeText(folder.path() / "token", "second\n");
    co_await getOnce(client, results);
    CHECK(server.requests().size() == 4);
    co_await getOnce(client, results);
    CHECK(server.requests().size() == 5);
    std::filesystem::remove(folder.path() / "token");  // the last token is still used
    co_await getOnce(client, results);
  });
  CHECK(results == std::vector<std::string>{"{}", "Unauthorized: no", "{}", "{}", "{}"});
}

TEST_CASE("a file is read again after kFileLookInterval, and an unreadable file changes nothing") {
  const certs::test::TemporaryDirectory folder;
  const auto path = folder.path() / "token";
  certs::test::writeText(path, "first");
  TextSource source = TextSource::ofFile(path.string());
  const TextSource::Instant start{1000s};
  CHECK_FALSE(source.refresh(start));
  CHECK(source.text() == "first");
  certs::test::writeText(path, "second");
  CHECK_FALSE(source.refresh(start + kFileLookInterval - 1s));
  CHECK(source.text() == "first");
  CHECK_FALSE(source.refresh(start + kFileLookInterval));
  CHECK(source.text() == "second");
  certs::test::writeText(path, "  \n");
  CHECK_FALSE(source.refresh(std::nullopt));
  CHECK(source.text() == "second");
  certs::test::writeText(path, std::string(kMaxSourceBytes + 1, 'x'));
  CHECK_FALSE(source.refresh(std::nullopt));
  CHECK(source.text() == "second");
}

TEST_CASE("a file that has never been readable is read each time") {
  const certs::test::TemporaryDirectory folder;
  const auto path = folder.path() / "token";
  TextSource source = TextSource::ofFile(path.string());
  const TextSource::Instant start{1000s};
  CHECK(source.refresh(start) == "the file " + path.string() + " does not exist");
  CHECK(source.refresh(start) == "the file " + path.string() + " does not exist");
  certs::test::writeText(path, "t");
  CHECK_FALSE(source.refresh(start));
  CHECK(source.text() == "t");
}

TEST_CASE("a client certificate is presented, and new connections present a new one") {
  const certs::PemPair people = forgedNow({.commonName = "people",
                                           .basicConstraints = "critical,CA:TRUE",
                                           .keyUsage = "keyCertSign",
                                           .extendedKeyUsage = "",
                                           .alternativeNames = ""});
  std::atomic<int> presentedCertificates{0};
  const auto wantsCertificate = [&](SSL_CTX* context) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certs::test::parse(people.certificate).get());
  };
  ScriptedPeer peer{runtime::test::goodPair(),
                    [&](PeerConnection& connection) {
                      ++presentedCertificates;
                      while (!connection.request().empty()) connection.send(ok("{}"));
                    },
                    wantsCertificate, Serves::AllAtOnce};
  const certs::test::TemporaryDirectory folder;
  const auto write = [&] {
    const auto pair = forgedNow({.extendedKeyUsage = "clientAuth"}, &people);
    certs::test::writeText(folder.path() / "own.crt", pair.certificate);
    certs::test::writeText(folder.path() / "own.key", pair.privateKey);
  };
  write();
  Credentials::Parts parts;
  parts.certificate = TextSource::ofFile((folder.path() / "own.crt").string());
  parts.key = TextSource::ofFile((folder.path() / "own.key").string());
  RestConfig config = configFor(peer);
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  std::vector<std::string> results;
  withClient(config, [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    co_await getOnce(client, results);
    CHECK(presentedCertificates == 1);
    write();
    config.credentials->refused(Authentication{});  // the files are read immediately
    co_await getOnce(client, results);
    CHECK(presentedCertificates == 2);
    CHECK(client.idleConnections() == 1);
  });
  CHECK(results == std::vector<std::string>{"{}", "{}", "{}"});
  RestConfig nobody = configFor(peer);
  withClient(nobody, [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results); });
  CHECK(results.back().starts_with("Transport: "));
}

TEST_CASE("concurrent calls share one run of a plugin, which runs again when its credential expires") {
  const certs::test::TemporaryDirectory folder;
  system_clock::time_point now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  Credentials::Parts parts;
  parts.plugin =
      pluginIn(folder, R"({\"token\":\"run-$N\",\"expirationTimestamp\":\"2026-01-0$((N + 1))T00:00:00Z\"})");
  const auto credentials = std::make_shared<Credentials>(std::move(parts), [&] { return now; });
  EventLoop loop;
  std::vector<std::string> tokens;
  const auto take = [&](EventLoop& on) -> Task<void> {
    auto got = co_await credentials->current(on, in(30s));
    tokens.push_back(tokenFrom(got));
  };
  const auto takeThree = [&] {
    for (int i = 0; i < 3; ++i) loop.spawn(take(loop));
    loop.run();
  };
  takeThree();
  CHECK(tokens == std::vector<std::string>(3, "run-1"));
  now += std::chrono::hours{24} - kExpiryLeeway - 1s;
  takeThree();
  CHECK(tokens.back() == "run-1");
  now += 1s;
  takeThree();
  CHECK(tokens.back() == "run-2");
  CHECK(runsIn(folder) == 2);
}

TEST_CASE("a plugin runs again after a 401, but not before kPluginInterval") {
  const certs::test::TemporaryDirectory folder;
  system_clock::time_point now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  runtime::test::Noted wanted;
  wanted.set("run-2");
  ApiServer server{accepts(wanted)};
  RestConfig config = server.config();
  Credentials::Parts parts;
  parts.plugin = pluginIn(folder, kNumbered);
  config.credentials = std::make_shared<Credentials>(std::move(parts), [&] { return now; });
  std::vector<std::string> results;
  withClient(config, [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    CHECK(runsIn(folder) == 1);
    now += kPluginInterval;
    co_await getOnce(client, results);
    CHECK(runsIn(folder) == 2);
  });
  CHECK(results == std::vector<std::string>{"Unauthorized: no", "{}"});
}

TEST_CASE("the output of a plugin supplements a token of the configuration") {
  const certs::test::TemporaryDirectory folder;
  Credentials::Parts parts;
  parts.token = TextSource::ofText("own");
  parts.plugin =
      pluginIn(folder, R"({\"token\":\"t\",\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"})");
  RestConfig config;
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  CHECK(presented(config) == Authentication{"own", "C", "K"});
}

TEST_CASE("the error of a plugin that fails") {
  const certs::test::TemporaryDirectory folder;
  struct Row {
    const char* about;
    Credentials::Plugin plugin;
    std::string message;
  };
  ExecPlugin missing;
  missing.command = "dynamo-no-such-command";
  missing.installHint = "see https://example.com/install";
  const std::vector<Row> rows{
      {"is missing",
       {missing, dynamo::plugin::runExecPlugin},
       "credential plugin dynamo-no-such-command: cannot be run: No such file or directory: "
       "see https://example.com/install"},
      {"prints something else", pluginIn(folder, "secret"),
       "credential plugin sh: its output is not a JSON object"},
      {"gives nothing", pluginIn(folder, "{}"),
       "credential plugin sh: status: must have token, or clientCertificateData and clientKeyData"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    Credentials::Parts parts;
    parts.plugin = row.plugin;
    const auto credentials = std::make_shared<Credentials>(std::move(parts));
    EventLoop loop;
    const auto got = runtime::runTask(loop, credentials->current(loop, in(30s)));
    CHECK(tokenFrom(got) == "! " + row.message);
  }
}

TEST_CASE("a call with a slow plugin times out, and a later call uses the plugin's output") {
  const certs::test::TemporaryDirectory folder;
  Credentials::Parts parts;
  parts.plugin = pluginIn(folder, kNumbered);
  parts.plugin->exec.arguments[1] = "sleep 0.3; " + parts.plugin->exec.arguments[1];
  const auto credentials = std::make_shared<Credentials>(std::move(parts));
  EventLoop loop;
  std::vector<std::string> tokens;
  const auto run = [&]() -> Task<void> {
    auto first = co_await credentials->current(loop, in(50ms));
    tokens.push_back(tokenFrom(first));
    auto second = co_await credentials->current(loop, in(30s));
    tokens.push_back(tokenFrom(second));
  };
  loop.spawn(run());
  loop.run();
  CHECK(tokens == std::vector<std::string>{"! the credential plugin has not ended in time", "run-1"});
  CHECK(runsIn(folder) == 1);
}

TEST_CASE("a CA file is read again after a server certificate was rejected") {
  const certs::test::TemporaryDirectory folder;
  const auto path = folder.path() / "ca.crt";
  certs::test::writeText(path, runtime::test::Authority{"old CA"}.pem());
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  RestConfig config = server.config();
  config.authorities = TextSource::ofFile(path.string());
  std::vector<std::string> results;
  withClient(config, [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    CHECK(results.back().starts_with("Transport: TLS failed: "));
    certs::test::writeText(path, authority().pem());
    co_await getOnce(client, results);
    CHECK(results.back() == "{}");
  });
}

}  // namespace dynamo::kube::test
