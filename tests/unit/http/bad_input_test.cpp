// Invalid input from clients and the exact answer to each. After every row the server must still answer a
// valid request.

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

using Tls = Client::Tls;

/// For rows that wait for a deadline.
Limits quick() {
  Limits limits;
  limits.handshake = 3s;
  limits.header = 1s;
  limits.body = 1s;
  limits.linger = 8s;
  limits.sweep = 20ms;
  return limits;
}

/// "413 close", "200 keep", "closed", "timeout", "alert 70".
std::string outcome(const Answer& answer) {
  if (answer.end == End::closed) return "closed";
  if (answer.end == End::timeout) return "timeout";
  const bool close = answer.head.find("\r\nConnection: close\r\n") != std::string::npos;
  return std::to_string(answer.status) + (close ? " close" : " keep");
}

using Act = std::function<std::string(std::uint16_t port)>;

struct Row {
  const char* name;
  const char* expected;
  Act act;
  bool timed = false;  ///< waits for a deadline
};

/// One request over TLS.
Act sends(std::string bytes) {
  return [bytes = std::move(bytes)](std::uint16_t port) {
    Client client{port};
    return outcome(client.ask(bytes));
  };
}

/// Connects with an old version and returns the alert or the negotiated version.
Act connects(Tls tls) {
  return [tls](std::uint16_t port) {
    const Client client{port, tls};
    return client.connected() ? client.version() : "alert " + std::to_string(client.alert());
  };
}

/// Sends bytes without TLS.
Act sendsPlain(std::string bytes) {
  return [bytes = std::move(bytes)](std::uint16_t port) {
    Client client{port, Tls::none};
    return outcome(client.ask(bytes));
  };
}

/// Sends one byte every 20 ms until the server answers or closes.
std::string trickle(std::uint16_t port, std::string_view start, std::string_view slow) {
  Client client{port};
  if (!client.send(start)) return "closed";
  for (const char byte : slow) {
    std::this_thread::sleep_for(20ms);
    if (!client.send({&byte, 1})) break;
  }
  return outcome(client.receive());
}

std::string head(std::string_view lines, std::string_view body = {}) {
  return std::string{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"}
      .append(lines)
      .append("\r\n")
      .append(body);
}

std::string manyHeaders(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "X-H" + std::to_string(i) + ": v\r\n";
  return head(lines);
}

const char* const kChunked = "Transfer-Encoding: chunked\r\n";

std::vector<Row> syntaxRows() {
  return {
      {"a good request", "200 keep", sends(post("/echo", "{}"))},
      {"HTTP/1.0 closes", "200 close",
       sends("POST /echo HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")},
      {"an empty body is left to the handler", "200 keep", sends(head(""))},
      {"wrong method, no body", "405 close", sends("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n")},
      {"wrong method, body", "405 close",
       sends("PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}")},
      {"unknown path", "404 close", sends(post("/nothing", "{}"))},
      {"a query is not part of the path", "200 keep", sends(post("/echo?timeout=5s", "{}"))},
      {"content type text", "415 close",
       sends("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}")},
      {"content type json-patch", "415 close",
       sends("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json-patch\r\n"
             "Content-Length: 2\r\n\r\n{}")},
      {"no content type", "415 close", sends("POST /echo HTTP/1.1\r\nHost: h\r\n\r\n")},
      {"content type with charset", "200 keep",
       sends("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
             "Content-Length: 2\r\n\r\n{}")},
      {"two content types", "400 close", sends(head("Content-Type: text/plain\r\n"))},
      {"absolute form", "400 close", sends("POST http://h/echo HTTP/1.1\r\nHost: h\r\n\r\n")},
      {"asterisk form", "400 close", sends("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")},
      {"authority form", "400 close", sends("CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")},
      {"HTTP/1.2", "505 close", sends("POST /echo HTTP/1.2\r\nHost: h\r\n\r\n")},
      {"HTTP/2.0", "505 close", sends("POST /echo HTTP/2.0\r\nHost: h\r\n\r\n")},
      {"HTTP/0.9", "505 close", sends("GET /echo HTTP/0.9\r\n\r\n")},
      {"no version", "400 close", sends("GET /echo\r\n\r\n")},
      {"HTTP/2 preface over TLS", "closed",
       sends(std::string{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"} + std::string(9, '\0'))},
      {"noise", "400 close", sends(std::string("\x01\x02\x03\r\n\r\n", 7))},
      {"bare line feeds", "400 close", sends("POST /echo HTTP/1.1\nHost: h\n\n")},
      {"bare carriage return", "400 close", sends(head("X: a\rb\r\n"))},
      {"leading empty line", "400 close", sends("\r\n" + post("/echo", "{}"))},
      {"folded line", "400 close", sends(head("X: a\r\n b\r\n"))},
      {"folded line with tab", "400 close", sends(head("X: a\r\n\tb\r\n"))},
      {"blank before colon", "400 close", sends(head("X : a\r\n"))},
      {"line without colon", "400 close", sends(head("nonsense\r\n"))},
      {"NUL in a value", "400 close", sends(head(std::string("X: a\0b\r\n", 8)))},
      {"control character in a value", "400 close", sends(head("X: a\x01z\r\n"))},
      {"DEL in a value", "400 close", sends(head("X: a\x7fz\r\n"))},
      {"NUL in the target", "400 close", sends(std::string("POST /e\0cho HTTP/1.1\r\nHost: h\r\n\r\n", 33))},
      {"missing Host", "400 close", sends("POST /echo HTTP/1.1\r\n\r\n")},
      {"two Hosts", "400 close", sends(head("Host: other\r\n"))},
      {"100 headers", "200 keep", sends(manyHeaders(98))},
      {"101 headers", "431 close", sends(manyHeaders(99))},
      {"16 KiB of head", "431 close", sends(head("X: " + std::string(16'384, 'a') + "\r\n"))},
      {"1 MB of head", "431 close", sends(head("X: " + std::string(1'000'000, 'a') + "\r\n"))},
      {"unknown Expect", "417 close", sends(head("Expect: tea\r\n"))},
      {"Expect: 100-continue", "417 close", sends(head("Expect: 100-continue\r\nContent-Length: 2\r\n"))},
      {"Expect: 100-continue, with the body sent anyway", "417 close",
       sends(post("/echo", std::string(60'000, 'x'), "Expect: 100-continue\r\n"))},
      {"HTTP/1.0 has no Expect", "200 close",
       sends("POST /echo HTTP/1.0\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
             "Content-Length: 2\r\n\r\n{}")},
  };
}

std::vector<Row> framingRows() {
  const auto length = [](const char* value) { return "Content-Length: " + std::string{value} + "\r\n"; };
  return {
      {"chunked", "411 close", sends(head(kChunked, "2\r\n{}\r\n0\r\n\r\n"))},
      {"chunked, without a body", "411 close", sends(head(kChunked))},
      {"a large chunk", "411 close", sends(head(kChunked, "800000\r\n" + std::string(8 << 20, 'x')))},
      {"TE then CL", "400 close", sends(head(kChunked + length("5"), "0\r\n\r\n"))},
      {"CL then TE", "400 close", sends(head(length("5") + kChunked, "0\r\n\r\n"))},
      {"TE gzip then CL", "400 close", sends(head("Transfer-Encoding: gzip\r\n" + length("2"), "{}"))},
      {"CL then TE gzip", "400 close", sends(head(length("2") + "Transfer-Encoding: gzip\r\n", "{}"))},
      {"two equal CL", "400 close", sends(head(length("2") + length("2"), "{}"))},
      {"two different CL", "400 close", sends(head(length("2") + length("3"), "{}"))},
      {"list of CL", "400 close", sends(head(length("2, 2"), "{}"))},
      {"signed CL", "400 close", sends(head(length("+2"), "{}"))},
      {"negative CL", "400 close", sends(head(length("-2"), "{}"))},
      {"hexadecimal CL", "400 close", sends(head(length("0x2"), "{}"))},
      {"empty CL", "400 close", sends(head(length(""), "{}"))},
      {"CL beyond 64 bits", "400 close", sends(head(length("99999999999999999999"), "{}"))},
      {"TE gzip", "411 close", sends(head("Transfer-Encoding: gzip\r\n"))},
      {"TE gzip, chunked", "411 close", sends(head("Transfer-Encoding: gzip, chunked\r\n"))},
      {"TE identity", "411 close", sends(head("Transfer-Encoding: identity\r\n"))},
      {"TE with vertical tab", "400 close", sends(head("Transfer-Encoding: \vchunked\r\n"))},
      {"two TE", "400 close", sends(head(std::string{kChunked} + kChunked))},
      {"HTTP/1.0 with TE", "400 close",
       sends("POST /echo HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
             "\r\n0\r\n\r\n")},
      {"body at the limit", "200 keep", sends(post("/echo", std::string(65'536, 'x')))},
      {"body over the limit", "413 close", sends(post("/echo", std::string(65'537, 'x')))},
      {"large body over the limit, sent completely", "413 close",
       sends(post("/echo", std::string(8 << 20, 'x')))},
      {"announced 1 TB", "413 close", sends(head(length("1099511627776")))},
      {"handler throws", "500 keep", sends(post("/throw", "{}"))},
  };
}

std::vector<Row> connectionRows() {
  return {
      {"TLS 1.1", "alert 70", connects(Tls::v11)},
      {"TLS 1.2", "alert 70", connects(Tls::v12)},
      {"TLS 1.3", "TLSv1.3", connects(Tls::any)},
      {"plain HTTP on the TLS port", "closed", sendsPlain(post("/echo", "{}"))},
      {"HTTP/2 preface on the TLS port", "closed", sendsPlain("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
      {"random bytes on the TLS port", "closed", sendsPlain(std::string(200, '\xff'))},
      {"no handshake at all", "closed", sendsPlain(""), true},
      {"slow head", "408 close",
       [](std::uint16_t port) { return trickle(port, "POST /echo HTTP/1.1\r\nX: ", std::string(40, 'a')); },
       true},
      {"slow body", "408 close",
       [](std::uint16_t port) {
         return trickle(port, head("Content-Length: 100\r\n", "{"), std::string(60, 'a'));
       },
       true},
      {"TCP half-closed after the request", "200 keep",
       [](std::uint16_t port) {
         Client client{port};
         client.send(post("/echo", "{}"));
         client.endOfStream();
         const auto answer = client.receive();
         return client.closedByServer() ? outcome(answer) : "left open";
       }},
      {"TLS close_notify after the request", "200 keep",
       [](std::uint16_t port) {
         Client client{port};
         client.send(post("/echo", "{}"));
         client.goodbye();
         return outcome(client.receive());
       }},
      {"half-closed in the head", "closed",
       [](std::uint16_t port) {
         Client client{port};
         client.send("POST /echo HT");
         client.endOfStream();
         return outcome(client.receive());
       }},
      {"disconnects in the body", "closed",
       [](std::uint16_t port) {
         Client client{port};
         client.send(head("Content-Length: 100\r\n", "{"));
         client.endOfStream();
         return outcome(client.receive());
       }},
      {"resets in the body", "reset",
       [](std::uint16_t port) {
         Client client{port};
         client.send(head("Content-Length: 100\r\n", "{"));
         client.reset();
         return "reset";
       }},
      {"resets while the handler runs", "reset",
       [](std::uint16_t port) {
         Client client{port};
         client.send(post("/slow", "{}"));
         std::this_thread::sleep_for(20ms);
         client.reset();
         return "reset";
       }},
      {"resets while a large reply is sent", "reset",
       [](std::uint16_t port) {
         Client client{port};
         client.send(post("/large", "{}"));
         client.reset();
         return "reset";
       }},
      {"pipelined requests are answered in order", "ok",
       [](std::uint16_t port) {
         Client client{port};
         std::string all;
         for (std::size_t i = 0; i < 200; ++i) {
           all += post("/echo", std::string(i * 40, 'x'));
         }
         if (!client.send(all)) return std::string{"closed"};
         for (std::size_t i = 0; i < 200; ++i) {
           const auto body = client.receive().body;
           if (body != std::to_string(i * 40)) return "reply " + body;
         }
         return std::string{"ok"};
       }},
      {"a bad request after a good one", "200 keep, 400 close, closed",
       [](std::uint16_t port) {
         Client client{port};
         client.send(post("/echo", "{}") + "NONSENSE\r\n\r\n" + post("/echo", "{}"));
         const auto first = outcome(client.receive());
         const auto second = outcome(client.receive());
         return first + ", " + second + ", " + (client.closedByServer() ? "closed" : "open");
       }},
      {"2,000 connections that close at once", "dropped",
       [](std::uint16_t port) {
         for (int i = 0; i < 2'000; ++i) {
           Client client{port, Tls::none};
           if (i % 2 == 0) client.reset();
         }
         return "dropped";
       }},
  };
}

void checkRows(const std::vector<Row>& rows) {
  TestServer usual;
  TestServer timed{quick()};
  for (const auto& row : rows) {
    INFO(row.name);
    TestServer& server = row.timed ? timed : usual;
    CHECK(row.act(server.port()) == row.expected);
    Client good{server.port()};
    const auto answer = good.ask(post("/echo", "{}"));
    REQUIRE(answer.status == 200);
    REQUIRE(answer.body == "2");
  }
  for (TestServer* server : {&usual, &timed}) {
    (*server)->stop(3s);
    const auto metrics = (*server)->metrics();
    CHECK(metrics.connectionsOpen == 0);
    CHECK(metrics.bodyBytes == 0);
  }
}

}  // namespace

TEST_CASE("malformed request heads") {
  checkRows(syntaxRows());
}
TEST_CASE("message framing cannot be smuggled") {
  checkRows(framingRows());
}
TEST_CASE("misbehaving connections") {
  checkRows(connectionRows());
}

TEST_CASE("an internal exception ends its connection and is counted") {
  TestServer server;
  Client other{server.port()};
  REQUIRE(other.ask(post("/echo", "{}")).status == 200);
  CHECK(outcome(Client{server.port()}.ask(post("/lost", "{}"))) == "closed");
  CHECK(other.ask(post("/echo", "{}")).status == 200);
  CHECK(soon([&] { return server->metrics().connectionsOpen == 1; }));
  // The exception is counted after its connection has gone.
  CHECK(soon([&] { return server->metrics().connectionsFailed == 1; }));
}

TEST_CASE("errors are Status objects") {
  TestServer server;
  Client client{server.port()};
  const auto answer = client.ask("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(answer.head.find("\r\nAllow: POST\r\n") != std::string::npos);
  CHECK(answer.head.find("\r\nContent-Type: application/json\r\n") != std::string::npos);
  CHECK(answer.body ==
        R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
        R"("message":"the method is not allowed for this path","reason":"MethodNotAllowed","code":405})"
        "\n");
  const auto failed = Client{server.port()}.ask(post("/throw", "{}"));
  CHECK(failed.status == 500);
  CHECK(failed.body.find("secret") == std::string::npos);
}

TEST_CASE("a TLS 1.2 connection cannot be renegotiated") {
  TestServer server{{}, 1, TLS1_2_VERSION};
  Client client{server.port(), Tls::v12};
  REQUIRE(client.version() == "TLSv1.2");
  CHECK(client.ask(post("/echo", "{}")).status == 200);
  CHECK_FALSE(client.renegotiate());
  CHECK(Client{server.port()}.ask(post("/echo", "{}")).status == 200);
}

}  // namespace dynamo::webhook::test
