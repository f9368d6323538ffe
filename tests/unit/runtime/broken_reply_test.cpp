// Absent servers and invalid replies.

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "client_support.h"

namespace dynamo::runtime::test {

TEST_CASE("missing, truncated and invalid replies") {
  struct Row {
    const char* about;
    ScriptedPeer::Script script;
    Stage stage;
    const char* problem;
    std::string message;
  };
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
  const std::string closed = "the peer closed the connection";
  const std::string large = "the reply is too large";
  const auto sends = [](std::string text, bool goodbye) {
    return [text = std::move(text), goodbye](PeerConnection& peer) {
      if (peer.request().empty()) return;
      peer.send(text);
      if (goodbye) peer.goodbye();
    };
  };
  const auto keeps = [](std::string text) {
    return [text = std::move(text)](PeerConnection& peer) {
      peer.request();
      peer.send(text);
      peer.waitForEnd();
    };
  };
  const std::vector<Row> rows{
      {"silence", keeps(""), Stage::Receive, "TimedOut", "no complete reply arrived in time"},
      {"half a head", keeps("HTTP/1.1 200 OK\r\nCont"), Stage::Receive, "TimedOut",
       "no complete reply arrived in time"},
      {"half a body", keeps(head + "half"), Stage::Receive, "TimedOut", "no complete reply arrived in time"},
      {"closed before the reply", sends("", true), Stage::Receive, "Closed", closed},
      {"cut in the head", sends("HTTP/1.1 200 OK\r\n", false), Stage::Receive, "Closed", closed},
      {"cut in the body", sends(head + "half", false), Stage::Receive, "Closed", closed},
      {"closed in the body, with close_notify", sends(head + "half", true), Stage::Receive, "Closed", closed},
      {"reset in the body",
       [head](PeerConnection& peer) {
         peer.request();
         peer.send(head + "half");
         std::this_thread::sleep_for(50ms);
         peer.reset();
       },
       Stage::Receive, "Closed", closed},
      {"cut between chunks",
       sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", true), Stage::Receive,
       "Closed", closed},
      {"a length that is too large", keeps("HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n"),
       Stage::Receive, "TooLarge", large},
      {"chunks that are too large in total",
       [](PeerConnection& peer) {
         peer.request();
         peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
         const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
         for (int i = 0; i < 17; ++i) peer.send(chunk);
         peer.waitForEnd();
       },
       Stage::Receive, "TooLarge", large},
      {"a head without end", keeps("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x')), Stage::Receive,
       "Malformed", "the head of the reply or of a chunk is too large"},
      {"a chunk header without end",
       keeps("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(100'000, 'x')),
       Stage::Receive, "Malformed", "the head of the reply or of a chunk is too large"},
      {"no HTTP", keeps("220 mail.example.com ESMTP\r\n\r\n"), Stage::Receive, "Malformed",
       "the reply is malformed"},
      {"neither length nor chunks", keeps("HTTP/1.1 200 OK\r\n\r\nhello"), Stage::Receive, "Malformed",
       "the reply has neither a length nor chunks"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    ScriptedPeer peer{goodPair(), row.script};
    const bool waits = std::string_view{row.problem} == "TimedOut";
    const Outcome outcome = ask(peer, {.within = waits ? 300ms : 8s});
    CHECK_FALSE(outcome.reply);
    CHECK(outcome.error.stage == row.stage);
    CHECK(nameOf(outcome.error.problem) == row.problem);
    CHECK(outcome.error.message == row.message);
    CHECK_FALSE(outcome.error.stale);  // only a kept connection can be stale
  }
}

TEST_CASE("the wait for a silent server ends at the deadline") {
  auto listening = listenOn({"127.0.0.1", 0}, {false, 10s});
  const auto port = std::get<Listening>(listening).port;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = ask(Target{{"127.0.0.1", port}, "localhost", ""}, {.within = 200ms});
  CHECK(std::chrono::steady_clock::now() - begin < 4s);
  CHECK(outcome.error.stage == Stage::Handshake);
  CHECK(nameOf(outcome.error.problem) == "TimedOut");
}

TEST_CASE("no listener") {
  std::uint16_t port = 0;
  {
    auto listening = listenOn({"127.0.0.1", 0}, {false, 10s});
    port = std::get<Listening>(listening).port;
  }
  const auto error = [](Endpoint endpoint) {
    return ask(Target{std::move(endpoint), "localhost", ""}).error;
  };
  const TransportError refused = error({"", port});
  CHECK(refused.stage == Stage::Connect);
  CHECK(nameOf(refused.problem) == "Unreachable");
  CHECK(refused.message == "cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  CHECK(error({"localhost", port}).message ==
        "cannot connect to localhost:" + std::to_string(port) + ": Connection refused");
  const TransportError unknown = error({"no host", 443});
  CHECK(nameOf(unknown.problem) == "Unreachable");
  CHECK(unknown.message.starts_with("cannot connect to no host:443: "));
}

TEST_CASE("a request with invalid characters is not sent") {
  const std::vector<ClientRequest> rows{{"GET", "/a b"},
                                        {"GET", "a"},
                                        {"GET", ""},
                                        {"GET /", "/"},
                                        {"GET", "/a\r\nX: y"},
                                        {"GET", "/", {{"Authorization", "Bearer abc\n"}}},
                                        {"GET", "/", {{"X: y", "z"}}},
                                        {"GET", "/", {{"", "z"}}}};
  ScriptedPeer peer{goodPair(), answers(ok("hi"))};
  for (const ClientRequest& row : rows) {
    const Outcome outcome = ask(peer, {.request = row});
    CHECK(outcome.error.stage == Stage::Send);
    CHECK(nameOf(outcome.error.problem) == "BadRequest");
  }
}

}  // namespace dynamo::runtime::test
