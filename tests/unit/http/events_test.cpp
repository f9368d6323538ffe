// What the server tells a log of connections and requests that fail. One row: what a client does, what is
// told.

#include <catch2/catch.hpp>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::webhook::test {
namespace {

using Tls = Client::Tls;

/// What was told, one line an event; the client's address is checked and left out.
class Told {
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
    lines_.push_back(remote.starts_with("127.0.0.1:") ? std::move(line) : "of nobody: " + line);
  }

  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// A TLS record that nobody has encrypted.
std::string record() {
  return std::string{"\x17\x03\x03\x00\x20", 5} + std::string(32, 'x');
}

struct Row {
  const char* name;
  std::function<void(std::uint16_t port)> act;
  std::vector<std::string> told;
};

const Row kRows[] = {
    {"a good request", [](auto port) { CHECK(Client{port}.ask(post("/echo", "{}")).status == 200); }, {}},
    {"a connection that closes, as a TCP probe's",
     [](auto port) {
       Client{port, Tls::none};
     },
     {}},
    {"one that is reset",
     [](auto port) {
       Client{port, Tls::none}.reset();
     },
     {}},
    {"one that ends its direction and waits",
     [](auto port) {
       Client client{port, Tls::none};
       client.endOfStream();
       CHECK(client.closedByServer());
     },
     {}},
    {"one that leaves after the handshake", [](auto port) { Client{port}.goodbye(); }, {}},
    {"a client that does not trust our certificate",
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
    {"what TLS cannot read in place of the first request",
     [](auto port) {
       Client client{port};
       client.sendRaw(record());
       CHECK(client.closedByServer());
     },
     {"handshake 0: decryption failed or bad record mac"}},
    {"the same after a request, when nobody doubts the handshake",
     [](auto port) {
       Client client{port};
       CHECK(client.ask(post("/echo", "{}")).status == 200);
       client.sendRaw(record());
       CHECK(client.closedByServer());
     },
     {}},
    {"refusals, each with the path that is known, but not the query",
     [](auto port) {
       CHECK(Client{port}.ask(post("/nothing?secret=1", "{}")).status == 404);
       CHECK(Client{port}.ask("GET /echo HTTP/1.1\r\nHost: a\r\n\r\n").status == 405);
       Client client{port};
       CHECK(client.ask(post("/echo", "{}")).status == 200);
       CHECK(client.ask("nonsense\r\n\r\n").status == 400);
     },
     {"404 [/nothing]: there is nothing under this path", "405 [/echo]: the method is not allowed here",
      "400 []: malformed request head"}},
    {"what a handler refuses",
     [](auto port) { CHECK(Client{port}.ask(post("/refuse", "{}")).status == 400); },
     {"400 [/refuse]: the body is not to our taste"}},
    {"a handler that throws: its type, never its words",
     [](auto port) { CHECK(Client{port}.ask(post("/throw", "{}")).status == 500); },
     {"handler [/throw]: std::runtime_error"}},
};

}  // namespace

TEST_CASE("what fails is told once, what only leaves is not") {
  for (const Row& row : kRows) {
    INFO(row.name);
    Told told;
    Limits limits;
    limits.handshake = 300ms;
    limits.sweep = 50ms;
    {
      TestServer server{limits, 2, TLS1_3_VERSION, told.events()};
      row.act(server.port());
      CHECK(soon([&] { return told.lines().size() >= row.told.size(); }));
      server->stop(1s);  // whatever is under way has been told then
    }
    CHECK(told.lines() == row.told);
  }
}

}  // namespace dynamo::webhook::test
