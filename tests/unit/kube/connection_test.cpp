// Kept connections and connection failures.

#include <atomic>
#include <thread>

#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

/// Closes each connection except the first when its n-th request arrives.
ScriptedPeer::Script closesAfterFirst() {
  return [](PeerConnection& connection) {
    if (connection.request().empty()) return;
    connection.send(ok(R"({"first":true})"));
    connection.request();  // unanswered
  };
}

}  // namespace

TEST_CASE("connections are reused, one per concurrent request") {
  ApiServer server{[](const std::string&, int) {
    std::this_thread::sleep_for(20ms);
    return ok("{}");
  }};
  ClientOptions options;
  options.maxInFlight = 4;  // of which one namespace gets three
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        for (int i = 0; i < 3; ++i) co_await getOnce(client, results);
        CHECK(server.connections() == 1);
        CHECK(client.idleConnections() == 1);
        for (int i = 0; i < 12; ++i) loop.spawn(getOnce(client, results));
        while (results.size() < 15) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
        CHECK(server.connections() == 3);
        CHECK(client.idleConnections() == 3);
      },
      options);
  CHECK(results == std::vector<std::string>(15, "{}"));
}

TEST_CASE("requests wait in order until their deadline, and ungated requests do not wait") {
  std::atomic<bool> arrived{false};
  std::atomic<bool> answer{false};
  ApiServer server{[&](const std::string&, int number) {
    arrived = true;
    while (number == 0 && !answer) std::this_thread::sleep_for(2ms);
    return ok("{}");
  }};
  ClientOptions options;
  options.maxInFlight = 1;
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        loop.spawn(getOnce(client, results));
        while (!arrived) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
        const CallOptions hurried{30ms};
        co_await getOnce(client, results, hurried);
        CHECK(results == std::vector<std::string>{"Timeout: too many other requests were in progress"});
        const CallOptions lease{10s, true};
        co_await getOnce(client, results, lease);
        CHECK(results.back() == "{}");
        loop.spawn(getOnce(client, results));
        static_cast<void>(co_await loop.sleepUntil(in(10ms)));
        CHECK(results.size() == 2);
        answer = true;
        while (results.size() < 4) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
      },
      options);
  CHECK(results[2] == "{}");
  CHECK(results[3] == "{}");
}

TEST_CASE("a connection that the server has closed is not reused") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) {
                      if (connection.request().empty()) return;
                      connection.send(ok("{}"));
                      connection.goodbye();
                    }};
  std::vector<std::string> results;
  withClient(configFor(peer), [&](EventLoop& loop, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    static_cast<void>(co_await loop.sleepUntil(in(50ms)));
    co_await getOnce(client, results);
  });
  CHECK(results == std::vector<std::string>{"{}", "{}"});
  CHECK(peer.accepted() == 2);
}

TEST_CASE("an idempotent request is retried once if a kept connection closes when the request arrives") {
  struct Row {
    const char* about;
    std::function<Client::ObjectTask(Client&)> call;
    bool again;
  };
  const Row row = GENERATE(values<Row>({
      {"get", [](Client& c) { return c.get(configMaps(), "a", "b"); }, true},
      {"list", [](Client& c) { return c.list(configMaps(), "a"); }, true},
      {"replace", [](Client& c) { return c.replace(configMaps(), "a", "b", "{}"); }, true},
      {"apply", [](Client& c) { return c.patch(configMaps(), "a", "b", PatchType::Apply, "{}"); }, true},
      {"merge patch", [](Client& c) { return c.patch(configMaps(), "a", "b", PatchType::Merge, "{}"); },
       true},
      {"JSON patch", [](Client& c) { return c.patch(configMaps(), "a", "b", PatchType::Json, "[]"); }, false},
      {"create", [](Client& c) { return c.create(configMaps(), "a", "{}"); }, false},
      {"remove this object", [](Client& c) { return c.remove(configMaps(), "a", "b", Preconditions{"u"}); },
       true},
      {"remove by name", [](Client& c) { return c.remove(configMaps(), "a", "b"); }, false},
      {"raw post", [](Client& c) { return c.raw("POST", "/x"); }, false},
  }));
  CAPTURE(row.about);
  ScriptedPeer peer{runtime::test::goodPair(), closesAfterFirst()};
  std::vector<std::string> results;
  withClient(configFor(peer), [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results);
    auto second = co_await row.call(client);
    CHECK(textOf(second) == (row.again ? R"({"first":true})" : "Transport: the peer closed the connection"));
  });
  CHECK(peer.accepted() == (row.again ? 2 : 1));
}

TEST_CASE("a request on a new connection is not retried") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) { connection.request(); }};
  std::vector<std::string> results;
  withClient(configFor(peer),
             [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results); });
  CHECK(results == std::vector<std::string>{"Transport: the peer closed the connection"});
  CHECK(peer.accepted() == 1);
}

TEST_CASE("requests time out if the server does not answer") {
  struct Row {
    const char* about;
    const char* sent;
    const char* result;
  };
  const Row row = GENERATE(values<Row>({
      {"at all", "", "Timeout: no complete reply arrived in time"},
      {"with a whole head", "HTTP/1.1 200 OK\r\nContent-", "Timeout: no complete reply arrived in time"},
      {"with a whole body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
       "Timeout: no complete reply arrived in time"},
  }));
  CAPTURE(row.about);
  ScriptedPeer peer{runtime::test::goodPair(), [&](PeerConnection& connection) {
                      connection.request();
                      connection.send(ok("{}"));
                      connection.request();
                      connection.send(row.sent);
                      connection.waitForEnd();
                    }};
  std::vector<std::string> results;
  const CallOptions call;
  const CallOptions hurried{200ms};
  withClient(configFor(peer), [&](EventLoop&, Client& client) -> Task<void> {
    co_await getOnce(client, results, call);  // connects
    co_await getOnce(client, results, hurried);
    CHECK(client.idleConnections() == 0);
  });
  CHECK(results == std::vector<std::string>{"{}", row.result});
}

TEST_CASE("after a timeout no kept connection is used again") {
  std::atomic<bool> answers{true};
  std::atomic<int> arrived{0};
  ScriptedPeer peer{runtime::test::goodPair(),
                    [&](PeerConnection& connection) {
                      while (!connection.request().empty()) {
                        if (!answers) return connection.waitForEnd();
                        ++arrived;
                        while (arrived < 2) std::this_thread::sleep_for(1ms);
                        connection.send(ok("{}"));
                      }
                    },
                    {},
                    Serves::AllAtOnce};
  std::vector<std::string> results;
  withClient(configFor(peer), [&](EventLoop& loop, Client& client) -> Task<void> {
    loop.spawn(getOnce(client, results));
    co_await getOnce(client, results);
    while (results.size() < 2) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
    CHECK(client.idleConnections() == 2);
    answers = false;
    const CallOptions hurried{100ms};
    co_await getOnce(client, results, hurried);
    CHECK(client.idleConnections() == 0);
  });
  CHECK(results.back() == "Timeout: no complete reply arrived in time");
}

TEST_CASE("requests fail if the server is unreachable or has another name") {
  RestConfig gone;
  {
    const ApiServer server{[](const std::string&, int) { return ok("{}"); }};
    gone = server.config();
  }
  std::vector<std::string> results;
  withClient(gone, [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results); });
  CHECK(results[0].starts_with("Transport: cannot connect to 127.0.0.1:"));

  const ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  RestConfig other = server.config();
  other.serverName = "other.example.com";
  withClient(other, [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results); });
  CHECK(results[1].starts_with("Transport: TLS failed: "));
  RestConfig insecure = server.config();
  insecure.authorities = {};
  insecure.verify = false;
  withClient(insecure, [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results); });
  CHECK(results[2] == "{}");
}

TEST_CASE("calls return an error when the loop stops") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) { connection.waitForEnd(); }};
  std::vector<std::string> results;
  withClient(configFor(peer), [&](EventLoop& loop, Client& client) -> Task<void> {
    loop.spawn(getOnce(client, results));
    static_cast<void>(co_await loop.sleepUntil(in(50ms)));
    loop.stop();
  });
  CHECK(results == std::vector<std::string>{"Transport: the wait was cancelled"});
}

TEST_CASE("calls may be destroyed before they end, even after their client") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) { connection.waitForEnd(); }};
  std::vector<std::string> results;
  EventLoop loop;
  {
    ClientOptions options;
    options.maxInFlight = 1;
    Client client{loop, configFor(peer), nullptr, options};
    const auto leave = [](EventLoop& on) -> Task<void> {
      static_cast<void>(co_await on.sleepUntil(in(50ms)));
      throw std::runtime_error{"leaves the loop"};
    };
    // One call waits for its reply, the other one for a turn.
    for (int i = 0; i < 2; ++i) loop.spawn(getOnce(client, results));
    loop.spawn(leave(loop));
    CHECK_THROWS(loop.run());
  }
  CHECK(results.empty());
}

TEST_CASE("requests are counted and timed") {
  observability::Registry registry;
  ApiServer server{[](const std::string&, int number) {
    return number == 0 ? ok("{}") : number == 1 ? failure(404, "NotFound") : std::string{};
  }};
  ClientMetrics metrics{registry, "host:443"};
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop&, Client& client) -> Task<void> {
        client.setWriteGate([](std::string_view) { return false; });
        for (int i = 0; i < 2; ++i) co_await getOnce(client, results);
        auto refused = co_await client.create(configMaps(), "a", "{}");
        CHECK(errorIn(refused).status == 0);
        const CallOptions lease{5s, true};
        auto closed = co_await client.create(configMaps(), "a", "{}", false, lease);
        CHECK(errorIn(closed).reason == Reason::Transport);
      },
      ClientOptions{}, &metrics);
  const std::string text = registry.render();
  const auto has = [&](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  CHECK(has(R"(rest_client_requests_total{code="200",host="host:443",method="GET"} 1)"));
  CHECK(has(R"(rest_client_requests_total{code="404",host="host:443",method="GET"} 1)"));
  CHECK(has(R"(rest_client_requests_total{code="<error>",host="host:443",method="POST"} 1)"));
  CHECK(has(R"(rest_client_request_duration_seconds_count{host="host:443",verb="GET"} 2)"));
}

}  // namespace dynamo::kube::test
