// Guarded routes are only served to clients with a verified and admitted certificate.

#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

/// A server with `/guarded` and `/open`. Its context requests certificates and trusts that of `identity`.
class GuardedServer {
 public:
  explicit GuardedServer(bool guards = true) {
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), SSL_CTX_get0_certificate(identity.get()));
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context_.get()), X509_V_FLAG_PARTIAL_CHAIN);
    ServerOptions options;
    options.listen = {"127.0.0.1", 0};
    options.threads = 1;
    if (guards) {
      options.admits = [this](const X509& certificate) {
        ++asked;
        return admits && X509_cmp(&certificate, SSL_CTX_get0_certificate(identity.get())) == 0;
      };
    }
    options.events.requestRefused = [this](const RequestRefusal& refusal) {
      const std::lock_guard lock{mutex_};
      failures_.push_back(std::to_string(refusal.status) + " " + std::string{refusal.reason});
    };
    options.events.handshakeFailed = [this](const HandshakeFailure& failure) {
      const std::lock_guard lock{mutex_};
      failures_.emplace_back(failure.reason);
    };
    auto started = Server::start(
        options, [this](std::string_view path) { return path == "/guarded" ? &guarded_ : &open_; },
        [this] { return context_; });
    if (auto* error = std::get_if<runtime::StartError>(&started)) throw std::runtime_error{error->message};
    server_ = std::make_unique<Server>(std::move(std::get<Server>(started)));
  }

  std::uint16_t port() const { return server_->port(); }
  std::vector<std::string> failures() {
    const std::lock_guard lock{mutex_};
    return failures_;
  }

  const ContextPtr identity = serverContext();
  std::atomic<bool> admits = true;
  std::atomic<int> asked = 0;

 private:
  static Reply ok(HttpRequest&) { return {200, "application/json", "{}"}; }

  const ContextPtr context_ = serverContext();
  const Route guarded_{1024, false, ok, kHeavyBody, true};
  const Route open_{1024, false, ok};
  std::mutex mutex_;
  std::vector<std::string> failures_;
  std::unique_ptr<Server> server_;
};

using Tls = Client::Tls;

}  // namespace

TEST_CASE("a guarded route requires an admitted certificate; an open route does not") {
  GuardedServer server;
  Client good{server.port(), Tls::any, server.identity.get()};
  for (int i = 0; i < 3; ++i) CHECK(good.ask(post("/guarded", "{}")).status == 200);
  CHECK(good.ask(post("/open", "{}")).status == 200);
  CHECK(server.asked == 1);  // once per connection

  Client nobody{server.port()};
  CHECK(nobody.ask(post("/open", "{}")).status == 200);
  // The request is rejected before its body, which is never sent.
  const Answer answer = nobody.ask(
      "POST /guarded HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n");
  CHECK(answer.status == 403);
  CHECK(answer.body ==
        R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
        R"("message":"this path requires a client certificate","reason":"Forbidden","code":403})"
        "\n");
  CHECK(server.failures() == std::vector<std::string>{"403 this path requires a client certificate"});
}

TEST_CASE("a certificate that is not admitted is rejected, and every connection is checked") {
  GuardedServer server;
  server.admits = false;
  Client client{server.port(), Tls::any, server.identity.get()};
  CHECK(client.ask(post("/open", "{}")).status == 200);
  CHECK(client.ask(post("/guarded", "{}")).status == 403);
  CHECK(server.failures() ==
        std::vector<std::string>{"403 the client certificate has none of the allowed names"});
  server.admits = true;
  CHECK(Client(server.port(), Tls::any, server.identity.get()).ask(post("/guarded", "{}")).status == 200);
}

TEST_CASE("a certificate that fails verification ends the handshake, and the reason is logged") {
  GuardedServer server;
  const ContextPtr other = serverContext();
  CHECK(Client(server.port(), Tls::any, other.get()).ask(post("/open", "{}")).end == End::closed);
  CHECK(soon([&] { return !server.failures().empty(); }));
  CHECK(server.failures() == std::vector<std::string>{"certificate verify failed: self-signed certificate"});
  CHECK(server.asked == 0);
}

TEST_CASE("without admitted names a guarded route is open") {
  GuardedServer server{false};
  CHECK(Client{server.port()}.ask(post("/guarded", "{}")).status == 200);
}

}  // namespace dynamo::webhook::test
