// Overload: the bounds of a connection, and which connections are evicted first.

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

std::string headOf(int length) {
  return "POST /big HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(length) + "\r\n\r\n";
}

/// Keeps both workers of a server at the gate.
struct BusyWorkers {
  explicit BusyWorkers(TestServer& server) : first{server.port()}, second{server.port()} {
    REQUIRE(first.send(post("/gate", "{}")));
    REQUIRE(second.send(post("/gate", "{}")));
    REQUIRE(soon([] { return Gate::reached() == 2; }));
  }
  void release() {
    gate.open();
    CHECK(first.receive().body == "through");
    CHECK(second.receive().body == "through");
  }

  Gate gate;
  Client first;
  Client second;
};

}  // namespace

TEST_CASE("TLS messages without data do not occupy a thread") {
  TestServer server{{}, /*threads=*/1};
  Client other{server.port()};
  Client client{server.port()};
  for (int i = 0; i < 100; ++i) REQUIRE(client.updateKey());
  CHECK(client.ask(post("/echo", "{}")).status == 200);  // a few key updates are allowed
  int sent = 0;
  constexpr int kMany = 50'000;
  while (sent < kMany && client.updateKey()) {
    if (++sent % 500 == 0) CHECK(other.ask(post("/echo", "{}")).status == 200);
  }
  CHECK(sent < kMany);
  CHECK(soon([&] { return server->metrics().connectionsOpen == 1; }));
}

TEST_CASE("a body in records of one byte") {
  TestServer server{{}, /*threads=*/1};
  Client client{server.port()};
  REQUIRE(client.send(headOf(5'000)));
  for (int i = 0; i < 5'000; ++i) REQUIRE(client.send("x"));
  CHECK(client.receive().body == "5000");
}

TEST_CASE("a client with a slow body is evicted before an idle one") {
  Limits limits;
  limits.connections = 2;
  limits.body = 60s;
  limits.lagAfter = 100ms;
  limits.idleRelease = 50ms;
  limits.freeBody = 100;
  limits.sweep = 20ms;
  TestServer server{limits, /*threads=*/1};
  Client idle{server.port()};
  REQUIRE(idle.ask(post("/echo", "{}")).status == 200);
  Client slow{server.port()};
  REQUIRE(slow.send(headOf(1'000) + "x"));
  REQUIRE(soon([&] { return server->metrics().bodyBytes > 0; }));
  std::this_thread::sleep_for(500ms);
  CHECK(Client{server.port()}.ask(post("/echo", "{}")).status == 200);
  CHECK(slow.receive().end == End::closed);
  CHECK(idle.ask(post("/echo", "{}")).status == 200);
  CHECK(server->metrics().connectionsEvicted == 1);
}

TEST_CASE("a client is not evicted for a slow server thread") {
  Limits limits;
  limits.body = 1s;
  limits.minRate = std::uint64_t{1} << 40;
  limits.sweep = 20ms;
  TestServer server{limits, /*threads=*/1};
  Client busy{server.port()};
  Client client{server.port()};
  REQUIRE(busy.ask(post("/echo", "{}")).status == 200);
  REQUIRE(client.ask(post("/echo", "{}")).status == 200);
  constexpr int kSlow = 8;
  std::string slow;
  for (int i = 0; i < kSlow; ++i) slow += post("/slow", "{}");
  REQUIRE(busy.send(slow));
  CHECK(client.ask(post("/big", std::string(400'000, 'x'))).body == "400000");
  for (int i = 0; i < kSlow; ++i) CHECK(busy.receive().status == 200);
}

TEST_CASE("an unused connection is evicted when descriptors run out") {
  TestServer server;
  std::vector<std::unique_ptr<Client>> unused;
  for (int i = 0; i < 4; ++i) unused.push_back(std::make_unique<Client>(server.port()));
  REQUIRE(soon([&] { return server->metrics().connectionsOpen == 4; }));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int lowest = ::dup(0);
  REQUIRE(lowest > 0);
  ::close(lowest);
  const rlimit scarce{static_cast<rlim_t>(lowest) + 1, before.rlim_max};  // for the client's descriptor
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &scarce) == 0);
  const Answer answer = Client{server.port()}.ask(post("/echo", "{}"));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(answer.status == 200);
  CHECK(server->metrics().connectionsEvicted > 0);
}

TEST_CASE("a request that waits too long for a worker gets Retry-After") {
  Limits limits;
  limits.queue = 2s;
  TestServer server{limits};
  BusyWorkers busy{server};
  Client late{server.port()};
  REQUIRE(late.send(post("/gate", "{}")));
  REQUIRE(soon([&] { return server->metrics().requestsQueued == 1; }));
  std::this_thread::sleep_for(limits.queue + 300ms);
  busy.release();
  const Answer refused = late.receive();
  CHECK(refused.status == 503);
  CHECK(refused.head.find("\r\nRetry-After: 1\r\n") != std::string::npos);
  CHECK(Gate::reached() == 2);
  CHECK(server->metrics().timeouts == 1);
  CHECK(late.ask(post("/gate", "{}")).body == "through");
}

TEST_CASE("requests of disconnected clients are not handled") {
  Limits limits;
  limits.goneAfter = 50ms;
  TestServer server{limits};
  BusyWorkers busy{server};
  {
    std::vector<std::unique_ptr<Client>> gone;
    for (int i = 0; i < 20; ++i) {
      gone.push_back(std::make_unique<Client>(server.port()));
      REQUIRE(gone.back()->send(post("/gate", "{}")));
    }
    REQUIRE(soon([&] { return server->metrics().requestsQueued == 20; }));
  }
  std::this_thread::sleep_for(200ms);
  busy.release();
  CHECK(soon([&] { return server->metrics().connectionsOpen == 2; }));
  CHECK(Gate::reached() == 2);
}

TEST_CASE("stop waits for running handlers, not for queued requests") {
  TestServer server;
  Gate gate;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    REQUIRE(clients.back()->send(post("/gate", "{}")));
  }
  REQUIRE(soon([&] { return Gate::reached() == 2 && server->metrics().requestsQueued == 8; }));
  std::thread stopper{[&] { server->stop(50ms); }};
  std::this_thread::sleep_for(2s);
  gate.open();
  stopper.join();
  CHECK(Gate::reached() == 2);
  CHECK(server->metrics().connectionsOpen == 0);
}

}  // namespace dynamo::webhook::test
