// The webhook's request to its own listener.

#include "webhook/http/self_check.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

#include "common/runtime/plain_server.h"
#include "support.h"

namespace dynamo::webhook::test {

TEST_CASE("two servers may listen on the same port") {
  TestServer first;
  const auto find = [](std::string_view) -> const Route* { return nullptr; };
  ServerOptions options;
  options.listen = {"127.0.0.1", first.port()};
  auto second = Server::start(options, find, [context = serverContext()] { return context; });
  CHECK(std::holds_alternative<Server>(second));
}

TEST_CASE("self check") {
  TestServer server;
  const runtime::Endpoint endpoint{"", server.port()};
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
    auto plain = runtime::PlainServer::start({{{"127.0.0.1", 0}, {}}});
    const auto port = std::get<runtime::PlainServer>(plain).port(0);
    const auto answer = selfCheck({"127.0.0.1", port}, "/echo", "{}", 8s);
    CHECK(std::get<SelfCheckError>(answer).message == "the TLS handshake failed or took too long");
  }
  SECTION("too slow") {
    const Gate gate;
    const auto answer = selfCheck(endpoint, "/gate", "{}", 2s);
    CHECK(std::get<SelfCheckError>(answer).message == "no complete reply arrived in time");
  }
}

}  // namespace dynamo::webhook::test
