// Memory budgets of bodies and replies: when bytes count, which requests are rejected, and which connections
// are evicted.

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::string headOf(std::size_t length, std::string_view path = "/big") {
  return std::string{"POST "}.append(path).append(
             " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ") +
         std::to_string(length) + "\r\n\r\n";
}

/// A budget of 1 MiB for conversions, without an extra budget for short ones.
Limits tight() {
  Limits limits;
  limits.conversionBudget = kMiB;
  limits.shortListBudget = 0;
  limits.freeBody = 100;
  limits.body = 60s;
  limits.lagAfter = 1h;
  limits.sweep = 20ms;
  return limits;
}

bool asksAgain(const Answer& answer) {
  return answer.status == 503 && answer.head.find("\r\nRetry-After: 1\r\n") != std::string::npos;
}

/// A connection that has sent `sent` bytes of a body of 1 MiB.
std::unique_ptr<Client> holder(TestServer& server, std::size_t sent) {
  const std::uint64_t before = server->metrics().bodyBytes;
  auto client = std::make_unique<Client>(server.port());
  REQUIRE(client->send(headOf(kMiB) + std::string(sent, 'x')));
  REQUIRE(soon([&] { return server->metrics().bodyBytes >= before + sent - 100; }));
  return client;
}

/// The bytes in the kernel's send queues for clients of the port, including closed sockets.
std::size_t queuedBytes(std::uint16_t port) {
  std::ifstream table{"/proc/net/tcp"};
  std::string line;
  std::getline(table, line);
  std::size_t sum = 0;
  while (std::getline(table, line)) {
    // "0: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 ...": number, local, remote, state, tx:rx
    const auto local = line.find(':', line.find(':') + 1) + 1;
    const auto queue = line.find(' ', line.find(' ', local + 5) + 1) + 1;
    if (std::stoul(line.substr(local, 4), nullptr, 16) == port)
      sum += std::stoul(line.substr(queue, 8), nullptr, 16);
  }
  return sum;
}

}  // namespace

TEST_CASE("an announced body uses no budget before its bytes arrive") {
  TestServer server{tight()};
  std::vector<std::unique_ptr<Client>> pretenders;
  for (int i = 0; i < 20; ++i) {
    pretenders.push_back(std::make_unique<Client>(server.port()));
    REQUIRE(pretenders.back()->send(headOf(kMiB)));
  }
  CHECK(Client{server.port()}.ask(post("/big", std::string(kMiB / 2, 'x'))).body == std::to_string(kMiB / 2));
  CHECK(Client{server.port()}.ask(headOf(kMiB + 101)).status == 413);  // larger than the whole budget
}

TEST_CASE("received bytes count against the budget, separately for conversions and reviews") {
  Limits limits = tight();
  limits.admissionBudget = 40'000;
  TestServer server{limits};
  const auto conversion = holder(server, 600'000);  // three steps of 256 KiB
  CHECK(asksAgain(Client{server.port()}.ask(post("/big", std::string(400'000, 'x')))));
  Client other{server.port()};
  REQUIRE(other.send(headOf(40'000, "/echo") + std::string(30'000, 'x')));
  REQUIRE(soon([&] { return server->metrics().bodyBytes >= 600'000 + 30'000; }));
  Client refused{server.port()};
  CHECK(asksAgain(refused.ask(post("/echo", std::string(30'000, 'x')))));
  CHECK(refused.closedByServer());
  CHECK(server->metrics().requestsRefused == 2);
  CHECK(Client{server.port()}.ask(post("/big", std::string(50'000, 'x'))).status == 200);
  REQUIRE(other.send(std::string(10'000, 'x')));
  CHECK(other.receive().body == "40000");
  REQUIRE(conversion->send(std::string(kMiB - 600'000, 'x')));
  CHECK(conversion->receive().body == std::to_string(kMiB));
  CHECK(soon([&] { return server->metrics().bodyBytes == 0; }));
}

TEST_CASE("of two bodies that exceed the budget together one continues") {
  TestServer server{tight()};
  const auto first = holder(server, 300'000);
  const auto second = holder(server, 200'000);
  REQUIRE(second->send(std::string(400'000, 'x')));
  CHECK(asksAgain(second->receive()));
  CHECK(soon([&] { return server->metrics().bodyBytes < 600'000; }));
  REQUIRE(first->send(std::string(kMiB - 300'000, 'x')));
  CHECK(first->receive().body == std::to_string(kMiB));
}

TEST_CASE("long bodies cannot use the budget of short ones") {
  Limits limits = tight();
  limits.shortListBudget = 200'000;
  limits.shortList = 90'000;
  TestServer server{limits};
  const auto full = holder(server, kMiB - 10'000);
  CHECK(asksAgain(Client{server.port()}.ask(post("/big", std::string(100'000, 'x')))));
  for (int i = 0; i < 3; ++i) {
    CHECK(Client{server.port()}.ask(post("/big", std::string(90'000, 'x'))).body == "90000");
  }
}

TEST_CASE("a silent client that holds budget is evicted when others need it, however much it has sent") {
  Limits limits = tight();
  limits.lagAfter = 100ms;
  limits.minRate = 64 << 10;  // 16 s for the whole body
  TestServer server{limits};
  const auto silent = holder(server, kMiB - 1'000);
  // A partial TLS record does not count as progress.
  const bool piece = GENERATE(false, true);
  if (piece) silent->sendRaw({"\x17\x03\x03\x40\x00xyz", 8});
  std::this_thread::sleep_for(300ms);
  SECTION("evicted when others need the budget") {
    const auto start = std::chrono::steady_clock::now();
    CHECK(asksAgain(Client{server.port()}.ask(post("/big", std::string(100'000, 'x')))));
    CHECK(soon(
        [&] { return Client{server.port()}.ask(post("/big", std::string(100'000, 'x'))).status == 200; }));
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK(asksAgain(silent->receive()));
    CHECK(server->metrics().timeouts == 1);
  }
  SECTION("kept otherwise") {
    CHECK(server->metrics().bodyBytes >= kMiB - 1'100);
    if (piece) return;
    REQUIRE(silent->send(std::string(1'000, 'x')));
    CHECK(silent->receive().body == std::to_string(kMiB));
  }
}

TEST_CASE("a client that keeps the minimum rate is not evicted") {
  Limits limits = tight();
  limits.lagAfter = 1s;
  limits.minRate = 4'000;  // 1,000 bytes are credit for one second
  TestServer server{limits};
  const auto steady = holder(server, kMiB - 20'000);
  for (int i = 0; i < 19; ++i) {
    REQUIRE(steady->send(std::string(1'000, 'x')));
    CHECK(Client{server.port()}.ask(post("/big", std::string(100'000, 'x'))).status == 503);
    std::this_thread::sleep_for(100ms);
  }
  REQUIRE(steady->send(std::string(1'000, 'x')));
  CHECK(steady->receive().body == std::to_string(kMiB));
}

TEST_CASE("a reply uses the budget until the client has read it") {
  Limits limits;
  limits.freeBody = 0;
  limits.sweep = 20ms;
  TestServer server{limits};
  Client client{server.port()};
  REQUIRE(client.send(post("/mirror", std::string(8 * kMiB, 'x'))));
  REQUIRE(client.receiveSome());
  std::this_thread::sleep_for(50ms);
  CHECK(server->metrics().bodyBytes == 8 * kMiB);
  CHECK(client.receive().body.size() == 8 * kMiB);
  CHECK(soon([&] { return server->metrics().bodyBytes == 0; }));
}

TEST_CASE("unread replies are bounded, and their connections are evicted") {
  Limits limits;
  limits.replyBudget = std::size_t{40} << 20;
  limits.lagAfter = 4s;
  limits.sweep = 20ms;
  TestServer server{limits};
  std::vector<std::unique_ptr<Client>> stuck;
  for (int i = 0; i < 2; ++i) {
    stuck.push_back(std::make_unique<Client>(server.port()));
    REQUIRE(stuck.back()->send(post("/huge", "{}")));
    REQUIRE(stuck.back()->receiveSome());
  }
  CHECK(server->metrics().replyBytes >= std::size_t{32} << 20);
  const Answer refused = Client{server.port()}.ask(post("/huge", "{}"));
  CHECK(refused.status == 503);
  CHECK(refused.head.find("\r\nRetry-After: 1\r\n") != std::string::npos);
  CHECK(Client{server.port()}.ask(post("/echo", "{}")).status == 200);
  // Eviction needs a request that waits for budget.
  CHECK(soon([&] {
    static_cast<void>(Client{server.port()}.ask(post("/huge", "{}")));
    return server->metrics().timeouts == 2;
  }));
  for (auto& client : stuck) CHECK(client->receive().end == End::closed);
  CHECK(Client{server.port()}.ask(post("/huge", "{}")).body.size() == std::size_t{16} << 20);
  CHECK(soon([&] { return server->metrics().replyBytes == 0; }));
}

TEST_CASE("a reply in the kernel's send queue still counts") {
  Limits limits;
  limits.sweep = 20ms;
  TestServer server{limits};
  const Gate gate;
  Client client{server.port()};
  const bool more = GENERATE(false, true);
  REQUIRE(client.send(post("/patch", "{}") + (more ? post("/gate", "{}") : "")));
  REQUIRE(client.receiveSome());
  std::this_thread::sleep_for(300ms);
  CHECK(server->metrics().replyBytes > 100'000);
  CHECK(queuedBytes(server.port()) > 100'000);
  CHECK(client.receive().body.size() == 400'000);
  CHECK(soon([&] { return server->metrics().replyBytes == 0; }));
  CHECK(Gate::reached() == 0);  // no second reply is started meanwhile
  if (more) {
    CHECK(client.closedByServer());
  } else {
    CHECK(client.ask(post("/echo", "{}")).status == 200);
  }
}

TEST_CASE(
    "a client that does not read its reply is evicted when others need the budget, with its send queue") {
  Limits limits;
  limits.replyBudget = kMiB;
  limits.lagAfter = 200ms;
  limits.sweep = 20ms;
  TestServer server{limits};
  std::vector<std::unique_ptr<Client>> stuck;
  for (int i = 0; i < 2; ++i) {
    stuck.push_back(std::make_unique<Client>(server.port()));
    REQUIRE(stuck.back()->send(post("/patch", "{}")));
    REQUIRE(stuck.back()->receiveSome());
  }
  CHECK(soon([&] {
    static_cast<void>(Client{server.port()}.ask(post("/patch", "{}")));
    return server->metrics().timeouts == 2;
  }));
  CHECK(soon([&] { return queuedBytes(server.port()) == 0; }));
  CHECK(Client{server.port()}.ask(post("/patch", "{}")).body.size() == 400'000);
}

TEST_CASE("a client that ends its connection has the same time to read the reply") {
  Limits limits;
  limits.write = 1s;
  limits.linger = 50ms;
  limits.sweep = 20ms;
  TestServer server{limits};
  const bool closes = GENERATE(false, true);
  const auto ask = [&](Client& client) {
    REQUIRE(client.send(post("/patch", "{}", closes ? "Connection: close\r\n" : "")));
    REQUIRE(client.receiveSome());
    if (!closes) client.endOfStream();
  };
  Client reader{server.port()};
  ask(reader);
  std::this_thread::sleep_for(300ms);
  CHECK(reader.receive().body.size() == 400'000);
  Client silent{server.port()};
  ask(silent);
  CHECK(soon([&] { return queuedBytes(server.port()) > 100'000; }));
  CHECK(soon([&] { return server->metrics().connectionsOpen == 0 && queuedBytes(server.port()) == 0; }));
  CHECK(server->metrics().replyBytes == 0);
}

}  // namespace dynamo::webhook::test
