// Requests without TLS to servers that may be slow or hostile.

#include "common/runtime/plain_client.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/runtime/task_group.h"
#include "support.h"

namespace dynamo::runtime::test {
namespace {

using Result = TransportResult<PlainReply>;

Result ask(PlainRequest request) {
  EventLoop loop;
  return runTask(loop, askPlain(loop, std::move(request)));
}

PlainRequest requestTo(std::uint16_t port, std::chrono::milliseconds timeout = 8s) {
  PlainRequest out{"GET", {"127.0.0.1", port}, "/v1/loras"};
  out.timeout = timeout;
  return out;
}

std::string problemOf(const Result& result) {
  const auto* error = std::get_if<TransportError>(&result);
  return error == nullptr ? "" : std::string{nameOf(error->problem)} + ": " + error->message;
}

std::string replyOf(const Result& result) {
  const auto* reply = std::get_if<PlainReply>(&result);
  return reply == nullptr ? problemOf(result) : std::to_string(reply->status) + " " + reply->body;
}

/// Sends the text and keeps the connection open.
ScriptedPeer::Script keeps(std::string text) {
  return [text = std::move(text)](PeerConnection& peer) {
    peer.request();
    peer.send(text);
    peer.waitForEnd();
  };
}

/// Sends the text and closes.
ScriptedPeer::Script sends(std::string text) {
  return [text = std::move(text)](PeerConnection& peer) {
    peer.request();
    peer.send(text);
  };
}

/// Sends pieces of the text again and again, so that each single wait is short.
ScriptedPeer::Script drips(std::string head, std::string piece) {
  return [head = std::move(head), piece = std::move(piece)](PeerConnection& peer) {
    peer.request();
    peer.send(head);
    for (int i = 0; i < 100; ++i) {
      peer.send(piece);
      std::this_thread::sleep_for(20ms);
    }
  };
}

std::uint16_t closedPort() {
  auto listening = listenOn({"127.0.0.1", 0}, {false, 10s});
  return std::get<Listening>(listening).port;
}

}  // namespace

TEST_CASE("a plain request and its reply") {
  Noted seen;
  const ScriptedPeer peer{[&](PeerConnection& connection) {
    seen.set(connection.request());
    connection.send(ok("hello"));
    connection.waitForEnd();
  }};
  PlainRequest request{"POST", {"127.0.0.1", peer.port()}, "/v1/loras?x=1"};
  const std::string host = "Host: 127.0.0.1:" + std::to_string(peer.port()) + "\r\n";
  CHECK(replyOf(ask(request)) == "200 hello");
  CHECK(seen.get() ==
        "POST /v1/loras?x=1 HTTP/1.1\r\n" + host + "Connection: close\r\nContent-Length: 0\r\n\r\n");
  request.json = "{}";
  request.accept = "text/plain";
  CHECK(replyOf(ask(request)) == "200 hello");
  CHECK(seen.get() == "POST /v1/loras?x=1 HTTP/1.1\r\n" + host +
                          "Accept: text/plain\r\nContent-Type: application/json\r\nConnection: close\r\n"
                          "Content-Length: 2\r\n\r\n{}");
  request.method = "DELETE";
  request.json.clear();
  request.accept.clear();
  CHECK(replyOf(ask(request)) == "200 hello");
  CHECK(seen.get().starts_with("DELETE /v1/loras?x=1 HTTP/1.1\r\n"));
}

TEST_CASE("every status is a reply") {
  struct Row {
    const char* about;
    std::string sent;
    std::string reply;
  };
  const ScriptedPeer other{keeps("")};
  const std::string elsewhere = "http://127.0.0.1:" + std::to_string(other.port()) + "/";
  const std::vector<Row> rows{
      {"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "200 hi"},
      {"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "200 hi"},
      {"no body", "HTTP/1.1 204 No Content\r\n\r\n", "204 "},
      {"an error", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 2\r\n\r\n{}", "500 {}"},
      {"a redirect", "HTTP/1.1 307 X\r\nLocation: " + elsewhere + "\r\nContent-Length: 0\r\n\r\n", "307 "},
      {"a redirect for ever", "HTTP/1.1 301 X\r\nLocation: /v1/loras\r\nContent-Length: 0\r\n\r\n", "301 "},
      {"interim replies", "HTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const ScriptedPeer peer{sends(row.sent)};
    CHECK(replyOf(ask(requestTo(peer.port()))) == row.reply);
    CHECK(peer.accepted() == 1);
  }
  CHECK(other.accepted() == 0);
}

TEST_CASE("slow, truncated, invalid and oversized replies without TLS") {
  struct Row {
    const char* about;
    ScriptedPeer::Script script;
    std::string problem;
  };
  const std::string late = "TimedOut: no complete reply arrived in time";
  const std::string closed = "Closed: the peer closed the connection";
  const std::string large = "TooLarge: the reply is too large";
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<Row> rows{
      {"silence", keeps(""), late},
      {"half a body", keeps(head + "half"), late},
      {"a header for ever", drips("HTTP/1.1 200 OK\r\n", "X: y\r\n"), late},
      {"a body for ever", drips(chunked, "1\r\nx\r\n"), late},
      {"closed at once", [](PeerConnection&) {}, closed},
      {"closed before the reply", sends(""), closed},
      {"closed in the body", sends(head + "half"), closed},
      {"closed between chunks", sends(chunked + "4\r\nhalf\r\n"), closed},
      {"reset in the body",
       [head](PeerConnection& peer) {
         peer.request();
         peer.send(head + "half");
         std::this_thread::sleep_for(50ms);
         peer.reset();
       },
       closed},
      {"a length above the limit", keeps("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n"), large},
      {"chunks above the limit", keeps(chunked + "10001\r\n" + std::string(0x10001, 'x') + "\r\n"), large},
      {"an error above the limit", keeps("HTTP/1.1 500 X\r\nContent-Length: 99999999999\r\n\r\n"), large},
      {"no HTTP", keeps("220 mail.example.com ESMTP\r\n\r\n"), "Malformed: the reply is malformed"},
      {"random bytes", keeps(std::string("\x16\x03\x01\x00\xff\r\n\r\n", 9)),
       "Malformed: the reply is malformed"},
      {"neither length nor chunks", sends("HTTP/1.1 200 OK\r\n\r\nhello"),
       "Malformed: the reply has neither a length nor chunks"},
      {"another protocol", keeps("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
       "Malformed: the reply is not final"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const ScriptedPeer peer{row.script};
    const auto start = std::chrono::steady_clock::now();
    CHECK(problemOf(ask(requestTo(peer.port(), row.problem == late ? 300ms : 8s))) == row.problem);
    if (row.problem == late) CHECK(std::chrono::steady_clock::now() - start < 1500ms);
  }
}

TEST_CASE("the largest reply that is allowed") {
  const ScriptedPeer peer{sends(ok(std::string(kMaxPlainReplyBytes, 'x')))};
  CHECK(replyOf(ask(requestTo(peer.port()))).size() == kMaxPlainReplyBytes + 4);
  PlainRequest request = requestTo(peer.port());
  request.maxReplyBytes = kMaxPlainReplyBytes - 1;
  CHECK(problemOf(ask(request)) == "TooLarge: the reply is too large");
}

TEST_CASE("only IP addresses of servers are asked, without a proxy") {
  const ScriptedPeer proxy{keeps("")};
  const std::string url = "http://127.0.0.1:" + std::to_string(proxy.port());
  ::setenv("http_proxy", url.c_str(), 1);
  ::setenv("HTTP_PROXY", url.c_str(), 1);
  const std::uint16_t port = closedPort();
  const std::string text = std::to_string(port);
  struct Row {
    std::string address;
    std::string problem;
  };
  const std::vector<Row> rows{
      {"127.0.0.1", "Unreachable: cannot connect to 127.0.0.1:" + text + ": Connection refused"},
      {"::1", "Unreachable: cannot connect to [::1]:" + text + ": Connection refused"},
      {"::ffff:127.0.0.1",
       "Unreachable: cannot connect to [::ffff:127.0.0.1]:" + text + ": Connection refused"},
      {"localhost", "BadRequest: \"localhost\" is not the IP address of a server"},
      {"0.0.0.0", "BadRequest: \"0.0.0.0\" is not the IP address of a server"},
      {"::", "BadRequest: \"::\" is not the IP address of a server"},
      {"127.1", "BadRequest: \"127.1\" is not the IP address of a server"},
      {"fe80::1%lo", "BadRequest: \"fe80::1%lo\" is not the IP address of a server"},
      {"", "BadRequest: \"\" is not the IP address of a server"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.address);
    CHECK(problemOf(ask({"GET", {row.address, port}, "/"})) == row.problem);
  }
  ::unsetenv("http_proxy");
  ::unsetenv("HTTP_PROXY");
  CHECK(proxy.accepted() == 0);
}

TEST_CASE("a server at an IPv6 address") {
  Noted seen;
  const ScriptedPeer peer{[&](PeerConnection& connection) {
                            seen.set(connection.request());
                            connection.send(ok("six"));
                          },
                          Serves::OneByOne, "::1"};
  CHECK(replyOf(ask({"GET", {"::1", peer.port()}, "/"})) == "200 six");
  CHECK(seen.get().find("Host: [::1]:" + std::to_string(peer.port()) + "\r\n") != std::string::npos);
}

TEST_CASE("a path that would change the request is not sent") {
  const ScriptedPeer peer{sends(ok(""))};
  for (const char* path : {"/a b", "/a\r\nX: y", "a", ""}) {
    CAPTURE(path);
    CHECK(problemOf(ask({"GET", {"127.0.0.1", peer.port()}, path})) ==
          "BadRequest: the request has characters that cannot be sent");
  }
}

TEST_CASE("many requests are in progress at once, and stopping the loop ends them") {
  const ScriptedPeer slow{[](PeerConnection& peer) {
                            peer.request();
                            std::this_thread::sleep_for(300ms);
                            peer.send(ok("slow"));
                          },
                          Serves::AllAtOnce};
  const ScriptedPeer silent{keeps(""), Serves::AllAtOnce};
  std::vector<std::string> replies;
  const auto keep = [&](EventLoop& loop, std::uint16_t port) -> Task<void> {
    PlainRequest request = requestTo(port, 20s);
    auto result = co_await askPlain(loop, std::move(request));
    replies.push_back(replyOf(result));
  };
  const auto all = [&](EventLoop& loop, std::uint16_t port) -> Task<void> {
    TaskGroup group{loop};
    for (int i = 0; i < 10; ++i) group.spawn(keep(loop, port));
    co_await group.join();
  };
  const auto start = std::chrono::steady_clock::now();
  EventLoop loop;
  loop.spawn(all(loop, slow.port()));
  loop.run();
  CHECK(replies == std::vector<std::string>(10, "200 slow"));
  CHECK(std::chrono::steady_clock::now() - start < 2500ms);

  replies.clear();
  const auto stop = [](EventLoop& on) -> Task<void> {
    static_cast<void>(co_await on.sleepUntil(in(100ms)));
    on.stop();
  };
  EventLoop stopped;
  stopped.spawn(all(stopped, silent.port()));
  stopped.spawn(stop(stopped));
  stopped.run();
  CHECK(replies == std::vector<std::string>(10, "Cancelled: the wait was cancelled"));
}

}  // namespace dynamo::runtime::test
