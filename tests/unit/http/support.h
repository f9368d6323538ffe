#pragma once
// A raw TLS client and a server with a self-signed certificate, for tests.

#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "webhook/http/server.h"

namespace dynamo::webhook::test {

using namespace std::chrono_literals;
using ContextPtr = std::shared_ptr<SSL_CTX>;

/// A server context with a new self-signed P-256 certificate.
ContextPtr serverContext(int minVersion = TLS1_3_VERSION);

/// The result of a wait for bytes.
enum class End { reply, closed, timeout };

/// The answer to one request.
struct Answer {
  End end = End::closed;
  int status = 0;
  std::string head;
  std::string body;
};

/// A blocking client. Every wait is bounded by 10 s.
class Client {
 public:
  /// `strict`: requires a certificate of a trusted CA and trusts none.
  enum class Tls { none, any, v11, v12, strict };

  /// `identity`: presents the certificate of this context.
  explicit Client(std::uint16_t port, Tls tls = Tls::any, const SSL_CTX* identity = nullptr);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  /// The alert that ended the handshake, for example 70 (protocol_version), or 0.
  int alert() const { return alert_; }
  std::string version() const;
  /// False when the server has closed.
  bool send(std::string_view bytes);
  /// Sends raw bytes outside of TLS, like truncated records.
  void sendRaw(std::string_view bytes);
  /// The next reply.
  Answer receive();
  /// Waits for the first bytes of a reply, which receive() then begins with.
  bool receiveSome() { return readSome() > 0; }
  Answer ask(std::string_view bytes) { return send(bytes) ? receive() : Answer{}; }
  /// Frees the memory of received bytes.
  void forget() { releaseText(buffer_); }
  /// Whether the server closes without another byte.
  bool closedByServer();
  bool renegotiate();
  /// Sends a TLS 1.3 key update. False when the server has closed.
  bool updateKey();
  void endOfStream();  ///< TCP half-close without close_notify
  void goodbye();      ///< TLS close_notify
  void reset();        ///< closes with a TCP reset

 private:
  int readSome();

  int fd_ = -1;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
  int alert_ = 0;
  std::string buffer_;
};

/// A server on loopback with these routes:
/// - `/echo` answers with the size of the body; the limit is 64 KiB.
/// - `/big` is the same, heavy, with a limit of 16 MiB.
/// - `/mirror` returns the body; the limit is 16 MiB.
/// - `/throw` throws in the handler, and `/lost` in the lookup of the route.
/// - `/refuse` answers 400.
/// - `/slow` sleeps 200 ms.
/// - `/patch` answers with 400,000 bytes, `/large` with 1 MiB, `/huge` with 16 MiB.
/// - `/meet` waits for another `/meet` and answers whether they met.
/// - `/gate`, heavy, waits at a Gate.
class TestServer {
 public:
  explicit TestServer(Limits limits = {}, unsigned threads = 2, int minVersion = TLS1_3_VERSION,
                      ServerEvents events = {});

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  std::uint16_t port() const { return server_->port(); }
  void swapContext(ContextPtr next);

 private:
  std::mutex mutex_;
  ContextPtr context_;
  std::unique_ptr<Server> server_;
};

/// Requests to `/gate` wait while a Gate exists and has not been opened.
class Gate {
 public:
  Gate();
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open();
  /// The number of requests that have reached the gate.
  static int reached();
};

/// A well-formed request.
std::string post(std::string_view path, std::string_view body, std::string_view extraHeaders = {});

/// Waits for `condition` with a timeout that is long enough for a slow machine.
template <class Condition>
bool soon(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

/// Memory of this process, in bytes.
std::size_t residentBytes();

}  // namespace dynamo::webhook::test
