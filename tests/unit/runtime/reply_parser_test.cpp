// The result of parsing a reply does not depend on how the bytes are split.

#include "common/runtime/reply_parser.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dynamo::runtime::test {
namespace {

using State = ReplyParser::State;

struct Parsed {
  State state = State::Head;
  int status = 0;
  std::string body;
  std::string rest;
  std::string problem;

  bool operator==(const Parsed&) const = default;
};

/// Feeds `text` in steps of `step` bytes, as a session does.
Parsed parse(const std::string& text, std::size_t step, bool toHead = false) {
  ReplyParser parser{toHead};
  Parsed out;
  std::string in;
  for (std::size_t at = 0; at < text.size(); at += step) {
    in += text.substr(at, step);
    in.erase(0, parser.put(in, out.body));
  }
  out.state = parser.state();
  if (out.state == State::Body || out.state == State::Done) out.status = parser.head().status;
  out.rest = out.state == State::Malformed ? "" : in;
  out.problem = parser.problem();
  return out;
}

std::string chunked(std::string_view chunks) {
  return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string{chunks};
}

}  // namespace

TEST_CASE("replies in pieces of every size") {
  struct Row {
    const char* about;
    std::string text;
    Parsed expected;
    bool toHead = false;
  };
  const std::vector<Row> rows{
      {"a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {State::Done, 200, "hello", "", ""}},
      {"no reason phrase", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", {State::Done, 404, "", "", ""}},
      {"bytes after the end are left",
       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP",
       {State::Done, 200, "ok", "HTTP", ""}},
      {"an incomplete body",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
       {State::Body, 200, "hel", "", ""}},
      {"chunks",
       chunked("5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\n"),
       {State::Done, 200, "hello 0123456789", "", ""}},
      {"chunks with extensions and trailers",
       chunked("5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"),
       {State::Done, 200, "hello", "", ""}},
      {"chunks without an end", chunked("5\r\nhello\r\n"), {State::Body, 200, "hello", "\r\n", ""}},
      {"no content", "HTTP/1.1 204 No Content\r\n\r\n", {State::Done, 204, "", "", ""}},
      {"a reply to HEAD",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
       {State::Done, 200, "", "", ""},
       true},
      {"an interim reply first",
       "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       {State::Done, 200, "ok", "", ""}},
      {"neither length nor chunks",
       "HTTP/1.1 200 OK\r\n\r\nhello",
       {State::Malformed, 0, "", "", "the reply has neither a length nor chunks"}},
      {"two lengths",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
       {State::Malformed, 0, "", "", "the reply has two lengths"}},
      {"a length and chunks",
       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {State::Malformed, 0, "", "", "the reply is malformed"}},
      {"a compressed body",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
       {State::Malformed, 0, "", "", "the reply has an unknown transfer encoding"}},
      {"another protocol",
       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: spdy\r\n\r\n",
       {State::Malformed, 0, "", "", "the reply is not final"}},
      {"interim replies without end",
       [] {
         std::string out;
         for (int i = 0; i < 6; ++i) out += "HTTP/1.1 100 Continue\r\n\r\n";
         return out;
       }(),
       {State::Malformed, 0, "", "", "the reply is not final"}},
      {"no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n", {State::Malformed, 0, "", "", "the reply is malformed"}},
      {"a chunk without a size",
       chunked("zz\r\nhello\r\n0\r\n\r\n"),
       {State::Malformed, 0, "", "", "the reply is malformed"}},
      {"a chunk longer than its size",
       chunked("2\r\nhello\r\n0\r\n\r\n"),
       {State::Malformed, 0, "he", "", "the reply is malformed"}},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{2}, std::size_t{7}, row.text.size()}) {
      CAPTURE(row.about, step);
      CHECK(parse(row.text, step, row.toHead) == row.expected);
    }
  }
}

TEST_CASE("too many headers are refused") {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
  for (unsigned i = 0; i < kMaxReplyHeaders; ++i) text += "a: b\r\n";
  CHECK(parse(text + "\r\n", text.size()).problem == "the reply has too many headers");
}

TEST_CASE("headers are case-insensitive and determine whether the connection is kept") {
  const auto head = [](const std::string& text) {
    ReplyParser parser{false};
    std::string body;
    parser.put(text, body);
    return parser.head();
  };
  const ReplyHead kept = head("HTTP/1.1 429 Slow\r\nretry-after: 7\r\nContent-Length: 3\r\n\r\n");
  REQUIRE(kept.find("Retry-After") != nullptr);
  CHECK(*kept.find("Retry-After") == "7");
  CHECK(kept.find("Retry") == nullptr);
  CHECK(kept.length == 3);
  CHECK(kept.keepAlive);
  CHECK_FALSE(head("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").keepAlive);
  CHECK_FALSE(head("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").keepAlive);
  CHECK_FALSE(head(chunked("0\r\n\r\n")).length.has_value());
}

}  // namespace dynamo::runtime::test
