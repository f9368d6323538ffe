// The plain server, the self check and endpoints.

#include <catch2/catch.hpp>
#include <future>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "support.h"
#include "webhook/http/self_check.h"

namespace dynamo::webhook::test {
namespace {

using Tls = Client::Tls;

PlainServer startPlain(std::vector<PlainListener> listeners) {
  auto started = PlainServer::start(std::move(listeners));
  if (auto* error = std::get_if<StartError>(&started)) throw std::runtime_error{error->message};
  return std::move(std::get<PlainServer>(started));
}

Pages pages() {
  return {{"/healthz",
           [] {
             return Reply{200, "text/plain", "ok"};
           }},
          {"/readyz",
           [] {
             return Reply{503, "text/plain", "draining"};
           }},
          {"/throw", []() -> Reply { throw std::runtime_error{"x"}; }},
          {"/metrics", [] {
             return Reply{200, "text/plain", std::string(3 << 20, 'm')};
           }}};
}

}  // namespace

TEST_CASE("plain pages") {
  auto server =
      startPlain({{{"127.0.0.1", 0}, pages()}, {{"127.0.0.1", 0}, {{"/other", [] {
                                                                      return Reply{200, "text/plain", "2"};
                                                                    }}}}});
  const auto ask = [&](std::size_t listener, std::string_view line) {
    Client client{server.port(listener), Tls::none};
    return client.ask(std::string{line} + " HTTP/1.1\r\nHost: h\r\n\r\n");
  };
  CHECK(ask(0, "GET /healthz").body == "ok");
  CHECK(ask(0, "GET /healthz?verbose").body == "ok");
  CHECK(ask(0, "GET /readyz").status == 503);
  CHECK(ask(0, "GET /metrics").body.size() == 3 << 20);
  CHECK(ask(0, "GET /throw").status == 500);
  CHECK(ask(0, "GET /other").status == 404);
  CHECK(ask(1, "GET /other").body == "2");
  CHECK(ask(1, "GET /healthz").status == 404);
  CHECK(ask(0, "DELETE /healthz").status == 405);
  CHECK(ask(0, "DELETE /healthz").head.find("Allow: GET, HEAD\r\n") != std::string::npos);
  CHECK(ask(0, "GET http://h/healthz").status == 400);

  SECTION("HEAD has the length and no body") {
    Client client{server.port(0), Tls::none};
    REQUIRE(client.send("HEAD /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    const auto answer = client.receive();
    CHECK(answer.end == End::closed);  // the announced two bytes never come
    CHECK(answer.head.find("Content-Length: 2\r\n") != std::string::npos);
    CHECK(answer.head.starts_with("HTTP/1.1 200 OK\r\n"));
  }
  SECTION("a body is refused") {
    Client client{server.port(0), Tls::none};
    CHECK(client.ask("GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx").status == 413);
  }
  SECTION("TLS on the plain port fails cleanly") {
    CHECK_FALSE(Client{server.port(0)}.connected());
    CHECK(ask(0, "GET /healthz").body == "ok");
  }
  SECTION("a connection is for one request") {
    Client client{server.port(0), Tls::none};
    const auto answer = client.ask("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(answer.head.find("Connection: close\r\n") != std::string::npos);
    CHECK(client.closedByServer());
  }
  SECTION("stop closes unused connections") {
    Client client{server.port(0), Tls::none};
    server.stop(1s);
    CHECK(client.closedByServer());
  }
}

TEST_CASE("a slow page holds no other up") {
  std::promise<void> release;
  auto released = release.get_future().share();
  auto server = startPlain({{{"127.0.0.1", 0}, pages(), {{"/slow", [released] {
                                                            released.wait();
                                                            return Reply{200, "text/plain", "slow"};
                                                          }}}}});
  Client slow{server.port(0), Tls::none};
  REQUIRE(slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"));
  for (int i = 0; i < 3; ++i) {
    Client quick{server.port(0), Tls::none};
    CHECK(quick.ask("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n").body == "ok");
  }
  release.set_value();
  CHECK(slow.receive().body == "slow");
}

TEST_CASE("start errors name address and reason") {
  auto first = startPlain({{{"127.0.0.1", 0}, pages()}});
  const auto port = first.port(0);
  auto second = PlainServer::start({{{"127.0.0.1", port}, pages()}});
  REQUIRE(std::holds_alternative<StartError>(second));
  CHECK(std::get<StartError>(second).message ==
        "cannot listen on 127.0.0.1:" + std::to_string(port) + ": Address already in use");
  auto named = PlainServer::start({{{"no host", 0}, pages()}});
  CHECK(std::get<StartError>(named).message.starts_with("cannot listen on no host:0: "));
  auto foreign = PlainServer::start({{{"203.0.113.1", 0}, pages()}});
  CHECK(std::get<StartError>(foreign).message ==
        "cannot listen on 203.0.113.1:0: Cannot assign requested address");
}

TEST_CASE("all addresses") {
  auto server = startPlain({{{"", 0}, pages()}});
  Client client{server.port(0), Tls::none};
  CHECK(client.ask("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n").body == "ok");
}

TEST_CASE("two servers may share the port of the reviews") {
  TestServer first;
  const auto find = [](std::string_view) -> const Route* { return nullptr; };
  ServerOptions options;
  options.listen = {"127.0.0.1", first.port()};
  auto second = Server::start(options, find, [context = serverContext()] { return context; });
  CHECK(std::holds_alternative<Server>(second));
}

TEST_CASE("a host name is resolved") {  // cfg-Q14: the reference takes any address
  auto server = startPlain({{{"localhost", 0}, pages()}});
  Client client{server.port(0), Tls::none};
  CHECK(client.ask("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n").body == "ok");
}

TEST_CASE("endpoints") {
  struct Row {
    const char* text;
    const char* expected;
  };
  const std::vector<Row> rows{
      {"127.0.0.1:9443", "127.0.0.1:9443"},
      {"[::1]:0", "[::1]:0"},
      {":8080", ":8080"},
      {"9443", "\"9443\": must be ADDRESS:PORT or :PORT"},
      {"::1:80", "\"::1:80\": an IPv6 address must be in brackets, e.g. [::1]:9443"},
      {"1.2.3.4:", "\"1.2.3.4:\": the port must be a number from 0 to 65535"},
      {"1.2.3.4:65536", "\"1.2.3.4:65536\": the port must be a number from 0 to 65535"},
      {"1.2.3.4:1x", "\"1.2.3.4:1x\": the port must be a number from 0 to 65535"},
      {"localhost:1", "localhost:1"},
  };
  for (const auto& row : rows) {
    const auto parsed = parseEndpoint(row.text);
    const auto* endpoint = std::get_if<Endpoint>(&parsed);
    CHECK((endpoint != nullptr ? toString(*endpoint) : std::get<std::string>(parsed)) == row.expected);
  }
}

TEST_CASE("self check") {
  TestServer server;
  const Endpoint endpoint{"", server.port()};
  const auto ask = [&](std::string_view path, std::string_view body) {
    return selfCheck(endpoint, path, body, 8s);
  };
  const auto good = ask("/echo", "{}");
  REQUIRE(std::holds_alternative<SelfCheckReply>(good));
  CHECK(std::get<SelfCheckReply>(good).status == 200);
  CHECK(std::get<SelfCheckReply>(good).body == "2");
  CHECK(std::get<SelfCheckReply>(ask("/nothing", "")).status == 404);
  CHECK(std::get<SelfCheckReply>(ask("/throw", "{}")).status == 500);
  CHECK(std::get<SelfCheckReply>(ask("/echo", std::string(60'000, 'x'))).body == "60000");

  SECTION("no certificate") {
    server.swapContext(nullptr);
    CHECK(std::get<SelfCheckError>(ask("/echo", "{}")).message ==
          "the TLS handshake failed or took too long");
    CHECK(server->metrics().connectionsRefused == 1);
  }
  SECTION("stopped") {
    server->stop(0ms);
    CHECK(std::get<SelfCheckError>(ask("/echo", "{}")).message ==
          "cannot connect to 127.0.0.1:" + std::to_string(server.port()) + ": Connection refused");
  }
  SECTION("not TLS") {
    auto plain = startPlain({{{"127.0.0.1", 0}, pages()}});
    const auto answer = selfCheck({"127.0.0.1", plain.port(0)}, "/echo", "{}", 8s);
    CHECK(std::holds_alternative<SelfCheckError>(answer));
  }
  SECTION("too slow") {
    const Gate gate;
    const auto answer = selfCheck(endpoint, "/gate", "{}", 2s);
    CHECK(std::get<SelfCheckError>(answer).message == "there was no whole reply in time");
  }
}

}  // namespace dynamo::webhook::test
