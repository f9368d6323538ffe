// Requests over kept TLS connections.

#include "common/runtime/client_session.h"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "client_support.h"

namespace dynamo::runtime::test {
namespace {

/// Runs `use` with an open session.
template <class Use>
void withSession(const ScriptedPeer& peer, Use use) {
  EventLoop loop;
  const auto run = [&]() -> Task<void> {
    auto opened = co_await ClientSession::open(loop, targetOf(peer), trusting(authority().pem()), in(8s));
    if (auto* error = std::get_if<TransportError>(&opened)) throw std::runtime_error{error->message};
    co_await use(loop, std::get<ClientSession>(opened));
  };
  loop.spawn(run());
  loop.run();
}

template <class T>
std::string nameOfProblem(const TransportResult<T>& result) {
  const auto* error = std::get_if<TransportError>(&result);
  return error == nullptr ? "" : std::string{nameOf(error->problem)};
}

}  // namespace

TEST_CASE("a request and its reply") {
  Noted seen;
  ScriptedPeer peer{goodPair(), [&](PeerConnection& connection) {
                      seen.set(connection.request());
                      connection.send(ok("hello", "X-A: b\r\n"));
                      connection.waitForEnd();
                    }};
  const Outcome outcome =
      ask(peer, {.request = {"POST", "/api?x=1", {{"Accept", "application/json"}}, "{}"}});
  REQUIRE(outcome.reply);
  CHECK(outcome.reply->head.status == 200);
  CHECK(*outcome.reply->head.find("x-a") == "b");
  CHECK(outcome.reply->body == "hello");
  CHECK(seen.get() == "POST /api?x=1 HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(peer.port()) +
                          "\r\nAccept: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

TEST_CASE("a connection is kept for many requests") {
  ScriptedPeer peer{goodPair(), [](PeerConnection& connection) {
                      for (int i = 0;; ++i) {
                        const std::string request = connection.request();
                        if (request.empty()) return;
                        if (request.starts_with("HEAD")) {
                          connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
                        } else if (i % 2 == 0) {
                          connection.send(ok(std::to_string(i)));
                        } else {
                          connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n" +
                                          std::to_string(i) + "\r\n0\r\n\r\n");
                        }
                      }
                    }};
  withSession(peer, [](EventLoop&, ClientSession& session) -> Task<void> {
    for (int i = 0; i < 6; ++i) {
      CHECK(session.reusable());
      const ClientRequest request{i == 4 ? "HEAD" : "GET"};
      auto reply = co_await session.exchange(request, 100, in(8s));
      REQUIRE(std::holds_alternative<ClientReply>(reply));
      CHECK(std::get<ClientReply>(reply).body == (i == 4 ? "" : std::to_string(i)));
    }
    session.close();
  });
  CHECK(peer.accepted() == 1);
}

TEST_CASE("a connection that the peer has closed or will close takes no further request") {
  struct Row {
    const char* about;
    std::string reply;
    void (*then)(PeerConnection&);
    bool reusable;
  };
  const std::vector<Row> rows{
      {"kept", ok("a"), [](PeerConnection& peer) { peer.waitForEnd(); }, true},
      {"with close_notify", ok("a"), [](PeerConnection& peer) { peer.goodbye(); }, false},
      {"without close_notify", ok("a"), [](PeerConnection&) {}, false},
      {"announced", ok("a", "Connection: close\r\n"), [](PeerConnection& peer) { peer.waitForEnd(); }, false},
      {"unexpected bytes", ok("a") + "HTTP/1.1 408 Slow\r\n\r\n",
       [](PeerConnection& peer) { peer.waitForEnd(); }, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    ScriptedPeer peer{goodPair(), [&](PeerConnection& connection) {
                        connection.request();
                        connection.send(row.reply);
                        row.then(connection);
                      }};
    withSession(peer, [&](EventLoop& loop, ClientSession& session) -> Task<void> {
      auto reply = co_await session.exchange({}, 100, in(8s));
      REQUIRE(std::holds_alternative<ClientReply>(reply));
      static_cast<void>(co_await loop.sleepUntil(in(100ms)));
      CHECK(session.reusable() == row.reusable);
    });
  }
}

TEST_CASE("a kept connection that closes during a request is stale, a new one is not") {
  ScriptedPeer peer{goodPair(), [](PeerConnection& connection) {
                      connection.request();
                      connection.send(ok("a"));
                      connection.request();
                    }};
  withSession(peer, [](EventLoop&, ClientSession& session) -> Task<void> {
    auto first = co_await session.exchange({}, 100, in(8s));
    REQUIRE(std::holds_alternative<ClientReply>(first));
    auto second = co_await session.exchange({}, 100, in(8s));
    REQUIRE(std::holds_alternative<TransportError>(second));
    CHECK(nameOfProblem(second) == "Closed");
    CHECK(std::get<TransportError>(second).stale);
    CHECK_FALSE(session.reusable());
  });
}

TEST_CASE("a long reply is delivered in pieces as they arrive") {
  ScriptedPeer peer{goodPair(), [](PeerConnection& connection) {
                      connection.request();
                      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                      for (const char* event : {"6\r\nADDED\n\r\n", "9\r\nMODIFIED\n\r\n"}) {
                        connection.send(event);
                        std::this_thread::sleep_for(100ms);
                      }
                      connection.send("0\r\n\r\n");
                      connection.request();
                      connection.send(ok("again"));
                      connection.waitForEnd();
                    }};
  withSession(peer, [](EventLoop&, ClientSession& session) -> Task<void> {
    const ClientRequest request{"GET", "/api/v1/pods?watch=1"};
    auto head = co_await session.ask(request, in(8s));
    REQUIRE(std::holds_alternative<ReplyHead>(head));
    CHECK_FALSE(std::get<ReplyHead>(head).length.has_value());
    std::vector<std::string> pieces;
    for (;;) {
      auto piece = co_await session.read(in(8s));
      REQUIRE(std::holds_alternative<std::string_view>(piece));
      if (std::get<std::string_view>(piece).empty()) break;
      pieces.emplace_back(std::get<std::string_view>(piece));
    }
    CHECK(pieces == std::vector<std::string>{"ADDED\n", "MODIFIED\n"});
    CHECK(session.reusable());
    auto reply = co_await session.exchange({}, 100, in(8s));
    REQUIRE(std::holds_alternative<ClientReply>(reply));
    CHECK(std::get<ClientReply>(reply).body == "again");
  });
}

TEST_CASE(
    "a watch without events ends at its deadline, when another task cancels it, or when the loop stops") {
  const auto watch = [](PeerConnection& connection) {
    connection.request();
    connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.waitForEnd();
  };
  ScriptedPeer peer{goodPair(), watch};
  enum class Ends { Time, Cancel, Stop };
  for (const auto& [how, expected] :
       {std::pair{Ends::Time, "TimedOut"}, {Ends::Cancel, "Cancelled"}, {Ends::Stop, "Cancelled"}}) {
    withSession(peer,
                [&, ends = how, problem = std::string{expected}](EventLoop& loop,
                                                                 ClientSession& session) -> Task<void> {
                  auto head = co_await session.ask({}, in(8s));
                  REQUIRE(std::holds_alternative<ReplyHead>(head));
                  const auto other = [](EventLoop& on, ClientSession& watching, Ends by) -> Task<void> {
                    static_cast<void>(co_await on.sleepUntil(in(50ms)));
                    if (by == Ends::Cancel) watching.cancel();
                    if (by == Ends::Stop) on.stop();
                  };
                  if (ends != Ends::Time) loop.spawn(other(loop, session, ends));
                  const Deadline deadline = ends == Ends::Time ? in(50ms) : kNoDeadline;
                  auto piece = co_await session.read(deadline);
                  CHECK(nameOfProblem(piece) == problem);
                  CHECK_FALSE(session.reusable());
                });
  }
}

TEST_CASE("large requests and replies are complete") {
  ScriptedPeer peer{goodPair(), [](PeerConnection& connection) {
                      const std::string request = connection.request();
                      connection.send(ok(request.substr(request.find("\r\n\r\n") + 4)));
                      connection.waitForEnd();
                    }};
  std::string body(3'000'000, 'x');
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  const Outcome outcome = ask(peer, {.request = {"PUT", "/", {}, body}, .maxBodyBytes = body.size()});
  REQUIRE(outcome.reply);
  CHECK(outcome.reply->body == body);
}

}  // namespace dynamo::runtime::test
