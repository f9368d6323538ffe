// Requests that the server rejects with Retry-After, and writes that the gate rejects.

#include <chrono>

#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

TEST_CASE("a request is retried after the delay in Retry-After") {
  const int status = GENERATE(429, 503);
  ApiServer server{[&](const std::string&, int number) {
    return number == 0 ? failure(status, "TooManyRequests", "Retry-After: 1\r\n") : ok("{}");
  }};
  std::vector<std::string> results;
  const auto began = Clock::now();
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    auto created = co_await client.create(configMaps(), "a", R"({"x":"y"})");
    results.push_back(textOf(created));
  });
  CHECK(results == std::vector<std::string>{"{}"});
  CHECK(Clock::now() - began >= 1s);
  REQUIRE(server.requests().size() == 2);
  CHECK(server.requests()[0] == server.requests()[1]);
}

TEST_CASE("errors without Retry-After, with a long delay or after many retries are returned") {
  struct Row {
    const char* about;
    std::string reply;
    std::chrono::milliseconds timeout;
    unsigned requests;
    const char* result;
  };
  const Row row = GENERATE(values<Row>({
      {"429 without a time", failure(429, "TooManyRequests"), 10s, 1, "TooManyRequests: no"},
      {"503 without a time", failure(503, "ServiceUnavailable"), 10s, 1, "Unavailable: no"},
      {"another status with a time", failure(500, "InternalError", "Retry-After: 0\r\n"), 10s, 1,
       "Internal: no"},
      {"longer than the timeout of the call", failure(429, "TooManyRequests", "Retry-After: 60\r\n"), 10s, 1,
       "TooManyRequests: no"},
      {"too many times", failure(503, "ServiceUnavailable", "Retry-After: 0\r\n"), 60s, 3, "Unavailable: no"},
  }));
  CAPTURE(row.about);
  ApiServer server{[&](const std::string&, int) { return row.reply; }};
  ClientOptions options;
  options.maxPostponed = 2;
  std::vector<std::string> results;
  const CallOptions call{row.timeout};
  withClient(
      server.config(),
      [&](EventLoop&, Client& client) -> Task<void> { co_await getOnce(client, results, call); }, options);
  CHECK(results == std::vector<std::string>{row.result});
  CHECK(server.requests().size() == row.requests);
}

TEST_CASE("a request that waits for a retry does not block other requests") {
  ApiServer server{[](const std::string&, int number) {
    return number == 0 ? failure(429, "TooManyRequests", "Retry-After: 1\r\n") : ok("{}");
  }};
  ClientOptions options;
  options.maxInFlight = 1;
  std::vector<std::string> results;
  withClient(
      server.config(),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        loop.spawn(getOnce(client, results));
        while (server.requests().empty()) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
        const CallOptions hurried{900ms};
        co_await getOnce(client, results, hurried);
        CHECK(results == std::vector<std::string>{"{}"});
      },
      options);
  CHECK(results.size() == 2);
}

TEST_CASE("writes fail while the write gate is closed") {
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    bool open = false;
    client.setWriteGate([&](std::string_view) { return open; });
    const std::string refused =
        "Transport: writes are stopped: this process is not the leader, or another operator manages the "
        "namespace";
    auto created = co_await client.create(configMaps(), "a", "{}");
    CHECK(textOf(created) == refused);
    auto replaced = co_await client.replace(configMaps(), "a", "b", "{}");
    CHECK(textOf(replaced) == refused);
    auto patched = co_await client.patch(configMaps(), "a", "b", PatchType::Apply, "{}");
    CHECK(textOf(patched) == refused);
    auto removed = co_await client.remove(configMaps(), "a", "b");
    CHECK(textOf(removed) == refused);
    auto posted = co_await client.raw("POST", "/x");
    CHECK(textOf(posted) == refused);
    CHECK(server.requests().empty());
    auto got = co_await client.get(configMaps(), "a", "b");
    CHECK(textOf(got) == "{}");
    const CallOptions lease{5s, true};
    auto renewed = co_await client.replace(configMaps(), "a", "b", "{}", "", lease);
    CHECK(textOf(renewed) == "{}");
    open = true;
    auto allowed = co_await client.create(configMaps(), "a", "{}");
    CHECK(textOf(allowed) == "{}");
  });
  CHECK(server.requests().size() == 3);
}

TEST_CASE("the write gate decides by the namespace of the object") {
  ApiServer server{[](const std::string&, int) { return ok("{}"); }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    client.setWriteGate([](std::string_view namespaceName) { return namespaceName == "a"; });
    for (const char* name : {"a", "b"}) {
      const std::size_t before = server.requests().size();
      co_await client.create(configMaps(), name, "{}");
      co_await client.replace(configMaps(), name, "c", "{}");
      co_await client.patch(configMaps(), name, "c", PatchType::Merge, "{}");
      co_await client.remove(configMaps(), name, "c");
      CHECK(server.requests().size() - before == (*name == 'a' ? 4 : 0));
    }
  });
}

TEST_CASE("the write gate is checked again before a write is retried") {
  ApiServer server{
      [](const std::string&, int) { return failure(429, "TooManyRequests", "Retry-After: 0\r\n"); }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    client.setWriteGate([&](std::string_view) { return server.requests().size() < 2; });
    auto created = co_await client.create(configMaps(), "a", "{}");
    CHECK(errorIn(created).status == 0);
  });
  CHECK(server.requests().size() == 2);
}

}  // namespace dynamo::kube::test
