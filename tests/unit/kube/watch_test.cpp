// Watches: the request, events in a split stream, and the end of a watch.

#include "controller/kube/watch_stream.h"

#include <thread>

#include "controller/kube/decode.h"
#include "controller/kube/reflector.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

constexpr const char* kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string size;
  for (std::size_t left = bytes.size(); left > 0; left /= 16) size.insert(size.begin(), kHex[left % 16]);
  return size + "\r\n" + bytes + "\r\n";
}

/// Returns the lines of a watch, followed by "end" or the error.
Task<std::vector<std::string>> linesOf(Client& client, WatchOptions options = {},
                                       std::chrono::milliseconds within = 8s) {
  std::vector<std::string> out;
  auto watched = co_await client.watch(configMaps(), "a", options);
  if (const auto* error = std::get_if<ApiError>(&watched)) {
    out.push_back(std::string{nameOf(error->reason)} + ": " + error->message);
    co_return out;
  }
  const auto stream = std::get<std::unique_ptr<WatchStream>>(std::move(watched));
  for (;;) {
    auto next = co_await stream->next(in(within));
    if (const auto* error = std::get_if<ApiError>(&next)) {
      out.push_back(std::string{nameOf(error->reason)} + ": " + error->message);
      co_return out;
    }
    const auto& line = std::get<std::optional<std::string>>(next);
    out.push_back(line.value_or("end"));
    if (!line) co_return out;
  }
}

/// Returns the lines of a watch whose server sends this text.
std::vector<std::string> watched(const ScriptedPeer::Script& script, std::chrono::milliseconds within = 8s) {
  ScriptedPeer peer{runtime::test::goodPair(), script};
  std::vector<std::string> out;
  withClient(configFor(peer), [&](EventLoop&, Client& client) -> Task<void> {
    const WatchOptions options;
    out = co_await linesOf(client, options, within);
  });
  return out;
}

}  // namespace

TEST_CASE("the request of a watch") {
  ApiServer server{[](const std::string&, int) { return std::string{kHead} + "0\r\n\r\n"; }};
  WatchOptions options;
  options.labelSelector = "app=a";
  options.fieldSelector = "metadata.name=b";
  options.resourceVersion = "42";
  options.timeout = 290s;
  WatchOptions streaming;
  streaming.sendInitialEvents = true;
  std::vector<std::string> lines;
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    lines = co_await linesOf(client, options);
    CHECK(lines == std::vector<std::string>{"end"});
    lines = co_await linesOf(client, streaming);
    CHECK(lines == std::vector<std::string>{"end"});
  });
  REQUIRE(server.requests().size() == 2);
  CHECK(lineOf(server.requests()[0]) ==
        "GET /api/v1/namespaces/a/configmaps?watch=true&allowWatchBookmarks=true&labelSelector=app%3Da"
        "&fieldSelector=metadata.name%3Db&resourceVersion=42&timeoutSeconds=290");
  CHECK(lineOf(server.requests()[1]) ==
        "GET /api/v1/namespaces/a/configmaps?watch=true&allowWatchBookmarks=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan");
}

TEST_CASE("events do not depend on how the stream is split") {
  const std::string first = R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}})";
  const std::string second = R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"2"}}})";
  const std::string text = first + "\n" + second + "\n";
  const std::vector<std::string> expected{first, second, "end"};
  // One connection serves several watches in sequence. The n-th stream is split at its n-th byte.
  ApiServer server{[&](const std::string&, int number) {
    const auto at = static_cast<std::size_t>(number);
    std::string out = kHead;
    if (at > 0) out += chunk(text.substr(0, at));
    if (at < text.size()) out += chunk(text.substr(at));
    return out + "0\r\n\r\n";
  }};
  withClient(server.config(), [&](EventLoop&, Client& client) -> Task<void> {
    for (std::size_t at = 0; at <= text.size(); ++at) {
      const std::vector<std::string> lines = co_await linesOf(client);
      REQUIRE(lines == expected);
    }
  });
  // Each byte is sent in a separate TLS record.
  CHECK(watched([&](PeerConnection& connection) {
          connection.request();
          connection.send(kHead);
          for (const char c : text) connection.send(chunk({c}));
          connection.send("0\r\n\r\n");
          connection.waitForEnd();
        }) == expected);
}

TEST_CASE("an event is returned as soon as the server sends it") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) {
                      connection.request();
                      connection.send(std::string{kHead} + chunk("{\"a\":1}\n"));
                      connection.waitForEnd();
                    }};
  withClient(configFor(peer), [](EventLoop&, Client& client) -> Task<void> {
    auto watched = co_await client.watch(configMaps(), "a");
    REQUIRE(std::holds_alternative<std::unique_ptr<WatchStream>>(watched));
    const auto& stream = std::get<std::unique_ptr<WatchStream>>(watched);
    auto next = co_await stream->next(in(8s));
    REQUIRE(std::holds_alternative<std::optional<std::string>>(next));
    CHECK(std::get<std::optional<std::string>>(next) == "{\"a\":1}");
  });
}

TEST_CASE("a watch that the server does not accept in time fails") {
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) {
                      connection.request();
                      connection.waitForEnd();
                    }};
  withClient(configFor(peer), [](EventLoop&, Client& client) -> Task<void> {
    const ListWatch source = listWatchOf(client, configMaps(), "a", CallOptions{100ms});
    const WatchOptions options;
    auto watched = co_await source.watch(options);
    REQUIRE(std::holds_alternative<ApiError>(watched));
    CHECK(std::get<ApiError>(watched).reason == Reason::Timeout);
  });
}

TEST_CASE("the end of a watch") {
  const std::string event = "{\"a\":1}\n";
  struct Row {
    const char* about;
    std::string sent;  ///< bytes sent before the server closes the connection
    std::vector<std::string> lines;
  };
  const Row row = GENERATE_COPY(values<Row>({
      {"by the server", kHead + chunk(event) + "0\r\n\r\n", {"{\"a\":1}", "end"}},
      {"with empty lines", kHead + chunk("\n\n" + event + "\r\n\n") + "0\r\n\r\n", {"{\"a\":1}", "end"}},
      {"within an event",
       kHead + chunk(event + "{\"b\"") + "0\r\n\r\n",
       {"{\"a\":1}", "Transport: the watch ended within an event"}},
      {"cut between events",
       kHead + chunk(event),
       {"{\"a\":1}", "Transport: the peer closed the connection"}},
      {"cut within a chunk",
       kHead + chunk(event) + "5\r\n{\"b",
       {"{\"a\":1}", "Transport: the peer closed the connection"}},
      {"refused", failure(410, "Expired"), {"Gone: no"}},
      {"refused by a proxy", reply(502, "<html>"), {"Unavailable: the server answered with HTTP status 502"}},
      {"before it began", "", {"Transport: the peer closed the connection"}},
  }));
  CAPTURE(row.about);
  CHECK(watched([&](PeerConnection& connection) {
          connection.request();
          connection.send(row.sent);
        }) == row.lines);
}

TEST_CASE("an event that is too large ends the watch") {
  const std::string part(1 << 20, 'x');
  CHECK(watched([&](PeerConnection& connection) {
          connection.request();
          std::string text = kHead + chunk("{}\n");
          for (std::size_t i = 0; i <= kMaxEventBytes / part.size(); ++i) text += chunk(part);
          connection.send(text);
          connection.waitForEnd();
        }) == std::vector<std::string>{"{}", "Transport: an event of the watch is too large"});
}

TEST_CASE("a watch without events ends at the caller's deadline") {
  CHECK(watched(
            [](PeerConnection& connection) {
              connection.request();
              connection.send(kHead + chunk("{}\n"));
              connection.waitForEnd();
            },
            100ms) == std::vector<std::string>{"{}", "Timeout: no complete reply arrived in time"});
}

TEST_CASE("a watch request with Retry-After is retried") {
  ApiServer server{[](const std::string&, int number) {
    return number == 0 ? failure(429, "TooManyRequests", "Retry-After: 0\r\n")
                       : kHead + chunk("{}\n") + "0\r\n\r\n";
  }};
  withClient(server.config(), [](EventLoop&, Client& client) -> Task<void> {
    const std::vector<std::string> lines = co_await linesOf(client);
    CHECK(lines == std::vector<std::string>{"{}", "end"});
  });
}

TEST_CASE("another task can cancel a watch while it waits or between two events") {
  const bool waiting = GENERATE(true, false);
  ScriptedPeer peer{runtime::test::goodPair(), [](PeerConnection& connection) {
                      connection.request();
                      connection.send(kHead + chunk("{}\n{}\n"));
                      connection.waitForEnd();
                    }};
  withClient(configFor(peer), [&](EventLoop& loop, Client& client) -> Task<void> {
    auto opened = co_await client.watch(configMaps(), "a");
    REQUIRE(std::holds_alternative<std::unique_ptr<WatchStream>>(opened));
    WatchStream& stream = *std::get<std::unique_ptr<WatchStream>>(opened);
    auto first = co_await stream.next(in(8s));
    REQUIRE(std::holds_alternative<std::optional<std::string>>(first));
    if (waiting) {
      auto second = co_await stream.next(in(8s));
      REQUIRE(std::holds_alternative<std::optional<std::string>>(second));
      const auto cancel = [](EventLoop& on, WatchStream& of) -> Task<void> {
        static_cast<void>(co_await on.sleepUntil(in(30ms)));
        of.cancel();
      };
      loop.spawn(cancel(loop, stream));
    } else {
      stream.cancel();
    }
    auto last = co_await stream.next(in(8s));
    CHECK(errorIn(last).reason == Reason::Transport);
    auto after = co_await stream.next(in(8s));
    CHECK(errorIn(after).message == "the watch was cancelled");
  });
}

TEST_CASE("watches do not count as concurrent requests, and they end with the loop") {
  ScriptedPeer peer{runtime::test::goodPair(),
                    [](PeerConnection& connection) {
                      for (;;) {
                        const std::string request = connection.request();
                        if (request.empty()) return;
                        const bool watch = lineOf(request).find("watch=true") != std::string::npos;
                        connection.send(watch ? std::string{kHead} : ok("{}"));
                      }
                    },
                    {},
                    Serves::AllAtOnce};
  ClientOptions options;
  options.maxInFlight = 1;
  std::vector<std::string> ends;
  // Declared here, because its tasks outlive the task that spawns them.
  const auto follow = [&](Client& of) -> Task<void> {
    const std::vector<std::string> lines = co_await linesOf(of);
    ends.push_back(lines.back());
  };
  withClient(
      configFor(peer),
      [&](EventLoop& loop, Client& client) -> Task<void> {
        for (int i = 0; i < 3; ++i) loop.spawn(follow(client));
        while (peer.accepted() < 3) static_cast<void>(co_await loop.sleepUntil(in(5ms)));
        auto got = co_await client.get(configMaps(), "a", "b");
        CHECK(textOf(got) == "{}");
        loop.stop();
      },
      options);
  CHECK(ends == std::vector<std::string>(3, "Transport: the wait was cancelled"));
}

}  // namespace dynamo::kube::test
