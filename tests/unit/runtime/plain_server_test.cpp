// The plain HTTP server of probes and metrics.

#include "common/runtime/plain_server.h"

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "support.h"

namespace dynamo::runtime::test {
namespace {

constexpr std::size_t kLarge = std::size_t{3} << 20;

PlainServer startPlain(std::vector<PlainListener> listeners, const PlainLimits& limits = {}) {
  auto started = PlainServer::start(std::move(listeners), limits);
  if (auto* error = std::get_if<StartError>(&started)) throw std::runtime_error{error->message};
  return std::move(std::get<PlainServer>(started));
}

std::function<Page()> says(int status, std::string body) {
  return [status, body = std::move(body)] { return Page{status, "text/plain", body}; };
}

Pages pages() {
  return {{"/healthz", says(200, "ok")},
          {"/readyz", says(503, "draining")},
          {"/throw", []() -> Page { throw std::runtime_error{"x"}; }},
          {"/metrics", says(200, std::string(kLarge, 'm'))}};
}

PlainServer startPages(const PlainLimits& limits = {}) {
  return startPlain({{{"127.0.0.1", 0}, pages()}}, limits);
}

std::string get(const PlainServer& server, std::string_view line, std::size_t listener = 0) {
  return PlainClient{server.port(listener)}.ask(std::string{line} + " HTTP/1.1\r\nHost: h\r\n\r\n");
}

std::string bodyOf(const std::string& reply) {
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

int statusOf(const std::string& reply) {
  return reply.starts_with("HTTP/1.1 ") ? std::stoi(reply.substr(9, 3)) : 0;
}

}  // namespace

TEST_CASE("plain pages") {
  auto server = startPlain({{{"127.0.0.1", 0}, pages()}, {{"127.0.0.1", 0}, {{"/other", says(200, "2")}}}});
  CHECK(get(server, "GET /healthz") ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  CHECK(bodyOf(get(server, "GET /healthz?verbose")) == "ok");
  CHECK(statusOf(get(server, "GET /readyz")) == 503);
  CHECK(bodyOf(get(server, "GET /metrics")).size() == kLarge);
  CHECK(statusOf(get(server, "GET /throw")) == 500);
  CHECK(get(server, "GET /throw").find("the handler failed") != std::string::npos);
  CHECK(statusOf(get(server, "GET /other")) == 404);
  CHECK(bodyOf(get(server, "GET /other", 1)) == "2");
  CHECK(statusOf(get(server, "GET /healthz", 1)) == 404);
  CHECK(statusOf(get(server, "DELETE /healthz")) == 405);
  CHECK(get(server, "DELETE /healthz").find("Allow: GET, HEAD\r\n") != std::string::npos);
  CHECK(statusOf(get(server, "GET http://h/healthz")) == 400);
}

TEST_CASE("a reply to HEAD has the length and no body") {
  auto server = startPages();
  const std::string reply = get(server, "HEAD /healthz");
  CHECK(reply.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(reply.find("Content-Length: 2\r\n") != std::string::npos);
  CHECK(bodyOf(reply).empty());
}

TEST_CASE("an invalid request is rejected and the connection is closed") {
  struct Row {
    const char* about;
    std::string sent;
    int status;  // 0: closed without an answer
  };
  const std::vector<Row> rows{
      {"a body", "GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", 413},
      {"chunks", "GET /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
      {"no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400},
      {"a bare line feed", "GET /healthz HTTP/1.1\nHost: h\r\n\r\n", 400},
      {"a head without end", "GET /healthz HTTP/1.1\r\nHost: " + std::string(20'000, 'h'), 431},
      {"too many headers",
       "GET /healthz HTTP/1.1\r\nHost: h\r\n" +
           [] {
             std::string out;
             for (int i = 0; i < 100; ++i) out += "a: b\r\n";
             return out;
           }() +
           "\r\n",
       431},
      {"another version", "GET /healthz HTTP/3.0\r\nHost: h\r\n\r\n", 505},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x0a\x0d\x0a", 8), 400},
  };
  auto server = startPages({.linger = 200ms});
  for (const Row& row : rows) {
    CAPTURE(row.about);
    CHECK(statusOf(PlainClient{server.port(0)}.ask(row.sent)) == row.status);
  }
  CHECK(bodyOf(get(server, "GET /healthz")) == "ok");
}

TEST_CASE("a connection is for one request") {
  auto server = startPages();
  const PlainClient client{server.port(0)};
  const std::string request = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string replies = client.ask(request + request);
  CHECK(replies.find("HTTP/1.1 200 OK") == 0);
  CHECK(replies.find("HTTP/1.1", 1) == std::string::npos);
}

TEST_CASE("a request may come in pieces, but not slowly") {
  auto server = startPages({.idle = 300ms, .header = 300ms});
  const PlainClient pieces{server.port(0)};
  for (const char* part : {"GET /hea", "lthz HTTP/1.1\r\nHo", "st: h\r\n\r"}) {
    REQUIRE(pieces.send(part));
    std::this_thread::sleep_for(20ms);
  }
  CHECK(bodyOf(pieces.ask("\n")) == "ok");

  const PlainClient slow{server.port(0)};
  REQUIRE(slow.send("GET /healthz HTTP/1.1\r\n"));
  CHECK(statusOf(slow.receiveAll()) == 408);
  CHECK(PlainClient{server.port(0)}.closedByServer());  // no byte was sent
}

TEST_CASE("a client that does not read its reply is disconnected") {
  constexpr std::size_t kHuge = std::size_t{64} << 20;
  auto server =
      startPlain({{{"127.0.0.1", 0}, {{"/huge", says(200, std::string(kHuge, 'h'))}}}}, {.write = 200ms});
  const PlainClient client{server.port(0), 4096};
  REQUIRE(client.send("GET /huge HTTP/1.1\r\nHost: h\r\n\r\n"));
  std::this_thread::sleep_for(1s);
  CHECK(client.receiveAll().size() < kHuge);
}

TEST_CASE("connections without a request are evicted for others") {
  auto server = startPages({.connections = 4});
  std::vector<std::unique_ptr<PlainClient>> idle;
  for (int i = 0; i < 12; ++i) idle.push_back(std::make_unique<PlainClient>(server.port(0)));
  CHECK(bodyOf(get(server, "GET /healthz")) == "ok");
  CHECK(idle.front()->closedByServer());
}

TEST_CASE("a slow page does not block others") {
  std::promise<void> release;
  auto released = release.get_future().share();
  auto server = startPlain({{{"127.0.0.1", 0}, pages(), {{"/slow", [released] {
                                                            released.wait();
                                                            return Page{200, "text/plain", "slow"};
                                                          }}}}});
  const PlainClient slow{server.port(0)};
  REQUIRE(slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  for (int i = 0; i < 3; ++i) CHECK(bodyOf(get(server, "GET /healthz")) == "ok");
  release.set_value();
  CHECK(bodyOf(slow.receiveAll()) == "slow");
}

TEST_CASE("stopping closes unused connections and waits for requests in progress") {
  SECTION("unused") {
    auto server = startPages({.firstRequestGrace = 50ms});
    const PlainClient client{server.port(0)};
    CHECK(bodyOf(get(server, "GET /healthz")) == "ok");  // the other connection has been accepted too
    const auto begin = std::chrono::steady_clock::now();
    server.stop(20s);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(client.closedByServer());
  }
  SECTION("a page in progress") {
    std::promise<void> reached;
    auto server = startPlain({{{"127.0.0.1", 0}, {}, {{"/slow", [&reached] {
                                                         reached.set_value();
                                                         std::this_thread::sleep_for(300ms);
                                                         return Page{200, "text/plain", "slow"};
                                                       }}}}});
    const PlainClient client{server.port(0)};
    REQUIRE(client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
    reached.get_future().wait();
    server.stop(20s);
    CHECK(bodyOf(client.receiveAll()) == "slow");
  }
  SECTION("up to the deadline") {
    auto server = startPages();
    const PlainClient client{server.port(0)};
    REQUIRE(client.send("GET /healthz"));
    const auto begin = std::chrono::steady_clock::now();
    server.stop(100ms);
    CHECK(std::chrono::steady_clock::now() - begin < 4s);
    CHECK(client.receiveAll().empty());
  }
}

TEST_CASE("start errors name address and reason") {
  auto first = startPages();
  const auto port = first.port(0);
  const auto errorOf = [](const Endpoint& endpoint) {
    return std::get<StartError>(PlainServer::start({{endpoint, pages()}})).message;
  };
  CHECK(errorOf({"127.0.0.1", port}) ==
        "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  CHECK(errorOf({"no host", 0}).starts_with("cannot listen on no host:0: "));
  CHECK(errorOf({"203.0.113.1", 0}) == "cannot listen on 203.0.113.1:0: Cannot assign requested address");
}

TEST_CASE("all addresses, and a host name") {  // cfg-Q14: the reference accepts any address
  for (const char* address : {"", "localhost"}) {
    CAPTURE(address);
    auto server = startPlain({{{address, 0}, pages()}});
    CHECK(bodyOf(get(server, "GET /healthz")) == "ok");
  }
}

}  // namespace dynamo::runtime::test
