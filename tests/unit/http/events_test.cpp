// The server's events for failed connections and requests. A row is an action of a client and the expected
// events.

#include <catch2/catch.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

using Tls = Client::Tls;

/// Records events, one line per event. The client's address is checked and left out.
class EventLog {
 public:
  ServerEvents events() {
    ServerEvents events;
    events.handshakeFailed = [this](const HandshakeFailure& failure) {
      add(failure.remote, "handshake " + std::to_string(failure.alert) + ": " + std::string{failure.reason});
    };
    events.requestRefused = [this](const RequestRefusal& refusal) {
      add(refusal.remote, std::to_string(refusal.status) + " [" + std::string{refusal.path} +
                              "]: " + std::string{refusal.reason});
    };
    events.handlerFailed = [this](const HandlerFailure& failure) {
      add(failure.remote, "handler [" + std::string{failure.path} + "]: " + std::string{failure.exception});
    };
    return events;
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock{mutex_};
    return lines_;
  }

 private:
  void add(std::string_view remote, std::string line) {
    const std::lock_guard lock{mutex_};
    lines_.push_back(remote.starts_with("127.0.0.1:") ? std::move(line) : "unknown client: " + line);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// An unencrypted TLS record.
std::string record() {
  return std::string{"\x17\x03\x03\x00\x20", 5} + std::string(32, 'x');
}

struct Row {
  const char* name;
  std::function<void(std::uint16_t port)> act;
  std::vector<std::string> expected;
};

const Row kRows[] = {
    {"a good request", [](auto port) { CHECK(Client{port}.ask(post("/echo", "{}")).status == 200); }, {}},
    {"a connection that closes, as a TCP probe's",
     [](auto port) {
       Client{port, Tls::none};
     },
     {}},
    {"a connection that is reset",
     [](auto port) {
       Client{port, Tls::none}.reset();
     },
     {}},
    {"a half-closed connection that waits",
     [](auto port) {
       Client client{port, Tls::none};
       client.endOfStream();
       CHECK(client.closedByServer());
     },
     {}},
    {"a connection that closes after the handshake", [](auto port) { Client{port}.goodbye(); }, {}},
    {"a client that does not trust the certificate",
     [](auto port) {
       CHECK_FALSE(Client{port, Tls::strict}.connected());
     },
     {"handshake 48: remote error: unknown ca"}},
    {"an old protocol",
     [](auto port) { CHECK(Client(port, Tls::v12).alert() == 70); },
     {"handshake 0: unsupported protocol"}},
    {"no TLS",
     [](auto port) {
       Client client{port, Tls::none};
       client.send("GET / HTTP/1.1\r\n\r\n");
       client.closedByServer();
     },
     {"handshake 0: http request"}},
    {"half a handshake",
     [](auto port) {
       Client client{port, Tls::none};
       client.send(std::string_view{"\x16\x03\x01\x00\x80\x01", 6});
       CHECK(client.closedByServer());
     },
     {"handshake 0: the handshake took too long"}},
    {"an invalid TLS record instead of the first request",
     [](auto port) {
       Client client{port};
       client.sendRaw(record());
       CHECK(client.closedByServer());
     },
     {"handshake 0: decryption failed or bad record mac"}},
    {"an invalid TLS record after a request",
     [](auto port) {
       Client client{port};
       CHECK(client.ask(post("/echo", "{}")).status == 200);
       client.sendRaw(record());
       CHECK(client.closedByServer());
     },
     {}},
    {"rejected requests with the path, but without the query",
     [](auto port) {
       CHECK(Client{port}.ask(post("/nothing?secret=1", "{}")).status == 404);
       CHECK(Client{port}.ask("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n").status == 405);
       Client client{port};
       CHECK(client.ask(post("/echo", "{}")).status == 200);
       CHECK(client.ask("nonsense\r\n\r\n").status == 400);
     },
     {"404 [/nothing]: the path does not exist", "405 [/echo]: the method is not allowed for this path",
      "400 []: malformed request head"}},
    {"a request that the handler rejects",
     [](auto port) { CHECK(Client{port}.ask(post("/refuse", "{}")).status == 400); },
     {"400 [/refuse]: the body is not accepted"}},
    {"a handler that throws: the type of the exception, never its message",
     [](auto port) { CHECK(Client{port}.ask(post("/throw", "{}")).status == 500); },
     {"handler [/throw]: std::runtime_error"}},
};

}  // namespace

TEST_CASE("each failure is one event; a connection that only closes is none") {
  for (const Row& row : kRows) {
    INFO(row.name);
    EventLog expected;
    Limits limits;
    limits.handshake = 300ms;
    limits.sweep = 50ms;
    {
      TestServer server{limits, 2, TLS1_3_VERSION, expected.events()};
      row.act(server.port());
      CHECK(soon([&] { return expected.lines().size() >= row.expected.size(); }));
      server->stop(1s);  // after this all events are recorded
    }
    CHECK(expected.lines() == row.expected);
  }
}

}  // namespace dynamo::webhook::test
