// A listener of the server for probes and metrics with TLS and a guard.

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "certs/load.h"
#include "certs/tls_context.h"
#include "client_support.h"
#include "common/runtime/plain_server.h"
#include "tests/unit/certs/support.h"

namespace dynamo::runtime::test {
namespace {

constexpr std::size_t kLarge = std::size_t{3} << 20;

certs::ServerContext serverContext() {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto pair = certs::test::must(certs::loadServingPair(goodPair(), "certificate", "key", now));
  return certs::test::must(certs::makeServerContext(pair, {}));
}

/// A guard that admits "yes", waits for ever with "wait", and refuses others. `asked` counts its calls.
std::function<Guard(EventLoop&)> guardOf(std::atomic<int>& asked) {
  return [&asked](EventLoop& loop) -> Guard {
    struct Parts {
      EventLoop& loop;
      std::atomic<int>& asked;
      Task<std::optional<Page>> refusal(std::string authorization) {
        ++asked;
        if (authorization == "wait") static_cast<void>(co_await loop.sleepUntil(in(60s)));
        if (authorization == "yes") co_return std::nullopt;
        co_return Page{authorization.empty() ? 401 : 403, "text/plain", "refused: " + authorization};
      }
    };
    const auto parts = std::make_shared<Parts>(Parts{loop, asked});
    return [parts](std::string authorization) { return parts->refusal(std::move(authorization)); };
  };
}

struct Secure {
  explicit Secure(const PlainLimits& limits = {}) {
    PlainListener listener;
    listener.listen = {"127.0.0.1", 0};
    listener.pages.emplace("/metrics", [] { return Page{200, "text/plain", std::string(kLarge, 'm')}; });
    listener.tls = [context = serverContext()] { return context; };
    listener.guard = guardOf(asked);
    PlainListener plain;
    plain.listen = {"127.0.0.1", 0};
    plain.pages.emplace("/healthz", [] { return Page{200, "text/plain", "ok"}; });
    auto started = PlainServer::start({listener, plain}, limits);
    if (auto* error = std::get_if<StartError>(&started)) throw std::runtime_error{error->message};
    server = std::make_unique<PlainServer>(std::get<PlainServer>(std::move(started)));
  }

  Outcome get(const std::string& authorization, const std::string& path = "/metrics",
              const std::string& method = "GET") const {
    std::vector<Header> headers;
    if (!authorization.empty()) headers.push_back({"Authorization", authorization});
    AskOptions options;
    options.request = ClientRequest{method, path, headers};
    options.maxBodyBytes = 2 * kLarge;
    return ask(Target{{"127.0.0.1", server->port(0)}, "localhost"}, options);
  }
  std::string healthz() const {
    return PlainClient{server->port(1)}.ask("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  }

  std::atomic<int> asked{0};
  std::unique_ptr<PlainServer> server;
};

/// Sends a request about which the guard does not decide, and gives up after half a second.
Task<void> askInVain(EventLoop& loop, std::uint16_t port) {
  Target target{{"127.0.0.1", port}, "localhost"};
  ClientContext context = trusting(authority().pem());
  auto opened = co_await ClientSession::open(loop, std::move(target), std::move(context), in(8s));
  std::vector<Header> headers;
  headers.push_back(Header{"Authorization", "wait"});
  ClientRequest request{"GET", "/metrics", std::move(headers)};
  auto head = co_await std::get<ClientSession>(opened).ask(std::move(request), in(500ms));
  CHECK(std::holds_alternative<TransportError>(head));
}

int statusOf(const Outcome& outcome) {
  return outcome.reply ? outcome.reply->head.status : 0;
}

}  // namespace

TEST_CASE("a page over TLS for a client that the guard admits") {
  const Secure secure;
  const Outcome outcome = secure.get("yes");
  REQUIRE(outcome.reply.has_value());
  CHECK(outcome.reply->head.status == 200);
  CHECK(outcome.reply->body == std::string(kLarge, 'm'));
  CHECK(statusOf(secure.get("no")) == 403);
  CHECK(secure.get("no").reply->body == "refused: no");
  CHECK(statusOf(secure.get("")) == 401);
}

TEST_CASE("the guard is only asked about pages that exist") {
  const Secure secure;
  CHECK(statusOf(secure.get("yes", "/other")) == 404);
  CHECK(statusOf(secure.get("yes", "/metrics", "DELETE")) == 405);
  CHECK(secure.asked == 0);
  CHECK(statusOf(secure.get("yes", "/metrics?name=x")) == 200);
  CHECK(secure.asked == 1);
}

TEST_CASE("a request without TLS is answered with 400, and other bytes end the connection") {
  const Secure secure;
  const std::string reply = PlainClient{secure.server->port(0)}.ask(
      "GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: yes\r\n\r\n");
  CHECK(reply.starts_with("HTTP/1.1 400 Bad Request\r\n"));
  CHECK(reply.find("this port serves HTTPS") != std::string::npos);
  CHECK(PlainClient{secure.server->port(0)}.ask(std::string(100, '\0')).find("HTTP") == std::string::npos);
  CHECK(secure.asked == 0);
  CHECK(statusOf(secure.get("yes")) == 200);
}

TEST_CASE("slow handshakes and slow guards delay no other client") {
  const Secure secure{{.header = 300ms}};
  const PlainClient silent{secure.server->port(0)};
  const PlainClient partial{secure.server->port(0)};
  REQUIRE(partial.send(std::string("\x16\x03\x01\x02\x00", 5)));
  EventLoop loop;
  for (int i = 0; i < 5; ++i) loop.spawn(askInVain(loop, secure.server->port(0)));
  loop.run();
  CHECK(secure.asked == 5);  // they still wait in the server
  CHECK(statusOf(secure.get("yes")) == 200);
  CHECK(secure.healthz().ends_with("\r\n\r\nok"));
  CHECK(silent.closedByServer());
  CHECK(partial.closedByServer());
}

TEST_CASE("a server with waiting guards stops at its deadline") {
  const Secure secure;
  EventLoop loop;
  loop.spawn(askInVain(loop, secure.server->port(0)));
  loop.run();
  REQUIRE(secure.asked == 1);
  const auto begin = std::chrono::steady_clock::now();
  secure.server->stop(100ms);
  CHECK(std::chrono::steady_clock::now() - begin < 4s);
}

}  // namespace dynamo::runtime::test
