// Connection limits, drain and stop, certificate changes, memory.

#include <malloc.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "common/runtime/memory.h"
#include "support.h"

namespace dynamo::webhook::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

bool closes(const Answer& answer) {
  return answer.head.find("\r\nConnection: close\r\n") != std::string::npos;
}

}  // namespace

TEST_CASE("connections over the limit are closed at once") {
  Limits limits;
  limits.connections = 3;
  limits.idleRelease = 1h;
  TestServer server{limits};
  {
    Client a{server.port()};
    Client b{server.port()};
    Client c{server.port()};
    for (Client* client : {&a, &b, &c}) REQUIRE(client->ask(post("/echo", "{}")).status == 200);
    const Client refused{server.port()};
    CHECK_FALSE(refused.connected());
    CHECK(server->metrics().connectionsRefused == 1);
    CHECK(server->metrics().connectionsOpen == 3);
    CHECK(a.ask(post("/echo", "{}")).status == 200);
  }
  CHECK(soon([&] { return server->metrics().connectionsOpen == 0; }));
  CHECK(Client{server.port()}.ask(post("/echo", "{}")).status == 200);
}

TEST_CASE("unused connections are evicted for new ones, those in use are not") {
  Limits limits;
  limits.connections = 8;
  TestServer server{limits, /*threads=*/1};
  Client used{server.port()};
  REQUIRE(used.ask(post("/echo", "{}")).status == 200);
  std::vector<std::unique_ptr<Client>> flood;
  flood.reserve(40);
  for (int i = 0; i < 40; ++i) flood.push_back(std::make_unique<Client>(server.port()));
  CHECK(soon([&] { return server->metrics().connectionsEvicted == 33; }));
  CHECK(server->metrics().connectionsRefused == 0);
  CHECK(soon([&] { return server->metrics().connectionsOpen == 8; }));
  CHECK(flood.front()->closedByServer());
  Client late{server.port()};
  CHECK(late.ask(post("/echo", "{}")).status == 200);
  CHECK(used.ask(post("/echo", "{}")).status == 200);
}

TEST_CASE("an idle connection is evicted when none is unused") {
  Limits limits;
  limits.connections = 2;
  limits.sweep = 20ms;
  limits.idleRelease = 50ms;
  TestServer server{limits, /*threads=*/1};
  Client first{server.port()};
  Client second{server.port()};
  REQUIRE(first.ask(post("/echo", "{}")).status == 200);
  REQUIRE(second.ask(post("/echo", "{}")).status == 200);
  if (GENERATE(false, true)) {  // a partial TLS record is no request
    std::this_thread::sleep_for(300ms);
    for (Client* client : {&first, &second}) client->sendRaw({"\x17\x03\x03\x40\x00xyz", 8});
  }
  std::unique_ptr<Client> late;
  REQUIRE(soon([&] {
    late = std::make_unique<Client>(server.port());
    return late->ask(post("/echo", "{}")).status == 200;
  }));
  CHECK(server->metrics().connectionsEvicted == 1);
}

TEST_CASE("idle connections end") {
  Limits limits;
  limits.idle = 2s;
  limits.sweep = 20ms;
  TestServer server{limits};
  Client unused{server.port()};
  Client used{server.port()};
  REQUIRE(used.ask(post("/echo", "{}")).status == 200);
  CHECK(unused.closedByServer());
  CHECK(used.closedByServer());
  CHECK(server->metrics().timeouts == 0);
}

TEST_CASE("a partial TLS record does not keep a connection open") {
  Limits limits;
  limits.idle = 2s;
  limits.header = 2s;
  limits.sweep = 20ms;
  TestServer server{limits};
  Client client{server.port()};
  REQUIRE(client.ask(post("/echo", "{}")).status == 200);
  client.sendRaw("\x17\x03\x03\x40\x00xyz");
  CHECK(client.closedByServer());
}

TEST_CASE("an idle connection releases its memory and stays open") {
  Limits limits;
  limits.idleRelease = 20ms;
  limits.sweep = 10ms;
  TestServer server{limits};
  Client client{server.port()};
  REQUIRE(client.ask(post("/echo", "{}")).status == 200);
  std::this_thread::sleep_for(100ms);
  CHECK(client.ask(post("/echo", "123")).body == "3");
}

TEST_CASE("a body that keeps up the minimum rate may take longer than the deadline") {
  Limits limits;
  limits.body = 200ms;
  limits.sweep = 20ms;
  limits.minRate = 100;
  TestServer server{limits};
  Client client{server.port()};
  // One record: the first bytes arrive with the head.
  REQUIRE(
      client.send("POST /big HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                  "Content-Length: 20000\r\n\r\n" +
                  std::string(1'000, 'x')));
  for (int i = 0; i < 19; ++i) {
    std::this_thread::sleep_for(30ms);
    REQUIRE(client.send(std::string(1'000, 'x')));
  }
  CHECK(client.receive().body == "20000");
}

TEST_CASE("a heavy body leaves the I/O thread free") {
  TestServer server{{}, 1};
  Client heavy{server.port()};
  REQUIRE(heavy.send(post("/big", std::string(10 << 20, 'x'))));
  CHECK(Client{server.port()}.ask(post("/echo", "{}")).status == 200);
  CHECK(heavy.receive().body == std::to_string(10 << 20));
}

TEST_CASE("a connection continues after large and small bodies and replies") {
  TestServer server;
  const std::string large(1U << 20U, 'x');
  std::vector<std::thread> clients;
  clients.reserve(4);
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      Client client{server.port()};
      for (int round = 0; round < 10; ++round) {
        const Answer small = client.ask(post("/echo", "{}"));
        const Answer mirrored = client.ask(post("/mirror", large));
        const Answer reply = client.ask(post("/large", "{}"));
        if (small.status == 200 && mirrored.body == large && reply.body.size() == large.size()) ++right;
      }
    });
  }
  for (auto& client : clients) client.join();
  CHECK(right == 40);
  CHECK(soon([&] { return server->metrics().connectionsOpen == 0; }));
}

TEST_CASE("a request that follows a large body at once is answered") {
  TestServer server;
  Client client{server.port()};
  const std::string large(1U << 20U, 'x');
  REQUIRE(client.send(post("/big", large) + post("/echo", "{}") + post("/big", large) + post("/echo", "{}")));
  for (int i = 0; i < 4; ++i) CHECK(client.receive().status == 200);
}

TEST_CASE("stop ends large transfers in progress") {
  for (int round = 0; round < 20; ++round) {
    TestServer server;
    std::vector<std::unique_ptr<Client>> clients;
    clients.reserve(8);
    const std::string part = post("/big", std::string(1U << 20U, 'x')).substr(0, 300'000);
    for (int i = 0; i < 8; ++i) {
      clients.push_back(std::make_unique<Client>(server.port()));
      REQUIRE(clients.back()->send(part));
    }
    server->stop(std::chrono::milliseconds{round});
    CHECK(server->metrics().connectionsOpen == 0);
  }
}

TEST_CASE("few connections are spread over the threads") {
  // If both connections were on one of the two threads, they would never meet.
  TestServer server{{}, 2};
  for (int round = 0; round < 3; ++round) {
    REQUIRE(soon([&] { return server->metrics().connectionsOpen == 0; }));
    Client a{server.port()};
    Client b{server.port()};
    REQUIRE(a.ask(post("/echo", "{}")).status == 200);
    REQUIRE(b.ask(post("/echo", "{}")).status == 200);
    REQUIRE(a.send(post("/meet", "{}")));
    REQUIRE(b.send(post("/meet", "{}")));
    CHECK(a.receive().body == "met");
    CHECK(b.receive().body == "met");
  }
}

TEST_CASE("drain answers requests with Connection: close") {
  TestServer server;
  Client open{server.port()};
  REQUIRE_FALSE(closes(open.ask(post("/echo", "{}"))));
  server->beginDrain();
  const auto last = open.ask(post("/echo", "{}"));
  CHECK(last.status == 200);
  CHECK(closes(last));
  CHECK(open.closedByServer());
  const auto late = Client{server.port()}.ask(post("/echo", "{}"));
  CHECK(late.status == 200);
  CHECK(closes(late));
}

TEST_CASE("stop waits for requests in progress") {
  TestServer server;
  const auto port = server.port();
  Client idle{port};
  Client busy{port};
  Client half{port};
  REQUIRE(idle.ask(post("/echo", "{}")).status == 200);
  REQUIRE(half.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Len"));
  REQUIRE(busy.send(post("/slow", "{}")));
  std::this_thread::sleep_for(50ms);
  std::thread stopper{[&] { server->stop(5s); }};
  CHECK(idle.closedByServer());
  const auto answer = half.ask("gth: 3\r\n\r\n123");
  CHECK(answer.body == "3");
  CHECK(closes(answer));
  CHECK(busy.receive().body == "slow");
  stopper.join();
  CHECK(server->metrics().connectionsOpen == 0);
  CHECK_FALSE(Client{port}.connected());
  server->stop(5s);  // a second stop does nothing
}

TEST_CASE("stop closes connections at the deadline") {
  Limits limits;
  limits.header = 60s;
  TestServer server{limits};
  Client stuck{server.port()};
  REQUIRE(stuck.send("POST /echo HTTP/1.1\r\n"));
  std::this_thread::sleep_for(50ms);
  const auto begin = std::chrono::steady_clock::now();
  server->stop(200ms);
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
  CHECK(stuck.receive().end == End::closed);
}

TEST_CASE("no request fails while the TLS context changes") {
  constexpr int kThreads = 4;
  constexpr int kRequests = 1'250;
  TestServer server;
  std::atomic<int> good{0};
  std::atomic<bool> done{false};
  std::thread swapper{[&] {
    while (!done) {
      server.swapContext(serverContext());
      std::this_thread::sleep_for(5ms);
    }
  }};
  std::vector<std::thread> clients;
  clients.reserve(4);
  for (int t = 0; t < kThreads; ++t) {
    clients.emplace_back([&] {
      std::optional<Client> client;
      for (int i = 0; i < kRequests; ++i) {
        if (i % 10 == 0) client.emplace(server.port());
        if (client->ask(post("/echo", "{}")).body == "2") ++good;
      }
    });
  }
  for (auto& client : clients) client.join();
  done = true;
  swapper.join();
  CHECK(good == kThreads * kRequests);
  CHECK(server->metrics().handshakesFailed == 0);
}

TEST_CASE("drain and stop under load lose no accepted request") {
  TestServer server;
  std::atomic<bool> stopping{false};
  std::atomic<int> lost{0};
  std::atomic<int> good{0};
  std::vector<std::thread> clients;
  clients.reserve(4);
  for (int t = 0; t < 4; ++t) {
    clients.emplace_back([&] {
      std::optional<Client> client;
      // Like an API server, the client stops after the drain, because it would use another replica.
      while (!stopping) {
        if (!client) client.emplace(server.port());
        const auto answer = client->ask(post("/echo", "{}"));
        answer.status == 200 ? ++good : ++lost;
        if (closes(answer)) client.reset();
      }
    });
  }
  CHECK(soon([&] { return good > 50; }));
  server->beginDrain();
  const int before = good;
  CHECK(soon([&] { return good > before + 50; }));
  stopping = true;
  for (auto& client : clients) client.join();
  server->stop(2s);
  CHECK(lost == 0);
}

TEST_CASE("memory stays flat", "[memory]") {
  TestServer server{{}, 2};
  const auto load = [&](int requests) {
    Client client{server.port()};
    const auto request = post("/echo", std::string(8'000, 'x'));
    int good = 0;
    for (int i = 0; i < requests; ++i) good += client.ask(request).status == 200 ? 1 : 0;
    return good;
  };
  REQUIRE(load(2'000) == 2'000);
  const auto before = residentBytes();
  REQUIRE(load(20'000) == 20'000);
  // Sanitizers keep freed memory in a quarantine.
  const auto growth = static_cast<std::int64_t>(residentBytes()) - static_cast<std::int64_t>(before);
  CHECK(growth < (kSanitized ? 512 : 2) << 20);
}

TEST_CASE("memory of a large body is released", "[memory]") {
  runtime::configureAllocator();
  TestServer server{{}, 2};
  const auto request = post("/big", std::string(16 << 20, 'x'));
  REQUIRE(Client{server.port()}.ask(post("/big", "{}")).status == 200);
  malloc_trim(0);  // releases the memory that the test itself has freed
  const auto before = residentBytes();
  for (int i = 0; i < 4; ++i) REQUIRE(Client{server.port()}.ask(request).status == 200);
  CHECK(soon([&] { return residentBytes() < before + ((kSanitized ? 512U : 4U) << 20); }));
}

TEST_CASE("open connections release the memory of large bodies and replies", "[memory]") {
  runtime::configureAllocator();
  TestServer server{{}, 2};
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const auto mirror = post("/mirror", std::string(kLarge, 'x'));
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<Client>(server.port()));
  for (auto& client : clients) REQUIRE(client->ask(post("/echo", "{}")).status == 200);
  malloc_trim(0);
  const auto before = residentBytes();
  for (auto& client : clients) {
    REQUIRE(client->ask(mirror).body.size() == kLarge);
    REQUIRE(client->ask(post("/large", "{}")).body.size() == kLarge);
    client->forget();
  }
  CHECK(soon([&] { return residentBytes() < before + ((kSanitized ? 512U : 16U) << 20); }));
}

}  // namespace dynamo::webhook::test
