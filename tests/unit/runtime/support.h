#pragma once
// A plain client, and a server with scripted behaviour, with TLS or without.

#include <openssl/ssl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "certs/pem.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/fd.h"
#include "common/runtime/tls_client.h"

namespace dynamo::runtime::test {

using namespace std::chrono_literals;
using ContextPtr = std::shared_ptr<SSL_CTX>;

/// The deadline `time` from now.
inline Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// Waits for `condition` with a timeout that is long enough for a slow machine.
template <class Condition>
bool soon(Condition condition) {
  const auto end = in(30s);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(5ms);
  }
  return true;
}

/// A text that one thread writes and another reads.
class Noted {
 public:
  void set(std::string text) {
    const std::lock_guard lock{mutex_};
    text_ = std::move(text);
  }
  std::string get() const {
    const std::lock_guard lock{mutex_};
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

/// A blocking client without TLS. Every wait is bounded by 10 s.
class PlainClient {
 public:
  /// `receiveBuffer` is the size of the kernel's receive buffer; 0 is the default size.
  explicit PlainClient(std::uint16_t port, int receiveBuffer = 0);

  /// False when the server has closed.
  bool send(std::string_view bytes) const;
  /// Up to `most` received bytes; empty when the server has closed or after the timeout.
  std::string receive(std::size_t most = 65'536) const;
  /// All bytes until the server closes.
  std::string receiveAll() const;
  std::string ask(std::string_view bytes) const { return send(bytes) ? receiveAll() : ""; }
  /// Whether the server closes without another byte.
  bool closedByServer() const;
  void endOfStream() const;

 private:
  UniqueFd fd_;
};

/// A CA that signs certificates which are valid from an hour ago to an hour from now.
class Authority {
 public:
  explicit Authority(const std::string& name = "test CA");

  const std::string& pem() const { return pair_.certificate; }
  /// `names` has OpenSSL's syntax: "DNS:localhost,IP:127.0.0.1". The certificate expires `end` from now.
  certs::PemPair sign(const std::string& names, std::chrono::seconds end = 3600s) const;

 private:
  certs::PemPair pair_;
};

/// The server's end of a connection. Blocking; every wait is bounded by 10 s.
class PeerConnection {
 public:
  /// Without `ssl` the connection is not encrypted.
  PeerConnection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}

  /// The next request, head and body; empty when the client has closed.
  std::string request();
  void send(std::string_view bytes);
  /// Closes with close_notify; without TLS, closes the sending direction.
  void goodbye();
  /// Closes with a TCP reset.
  void reset();
  /// Waits until the client has closed.
  void waitForEnd();
  SSL* ssl() const { return ssl_; }

 private:
  long receive(char* out, std::size_t most);

  int fd_;
  SSL* ssl_;
  std::string buffer_;
};

enum class Serves { OneByOne, AllAtOnce };

/// A server on loopback. `script` serves each connection after its handshake. When it returns, the socket is
/// closed without close_notify. With AllAtOnce each connection has a thread.
class ScriptedPeer {
 public:
  using Script = std::function<void(PeerConnection&)>;

  ScriptedPeer(const certs::PemPair& pair, Script script, const std::function<void(SSL_CTX*)>& change = {},
               Serves serves = Serves::OneByOne);
  /// A server without TLS, at an address of the loopback interface.
  explicit ScriptedPeer(Script script, Serves serves = Serves::OneByOne,
                        const std::string& address = "127.0.0.1");
  ~ScriptedPeer();
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }

 private:
  void listen(const std::string& address);
  void serve();
  void serveOne(UniqueFd fd);

  ContextPtr context_;
  Script script_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  Serves serves_;
  std::vector<std::thread> connections_;  ///< of the thread that accepts
  std::thread thread_;
};

/// A client context that trusts the CAs of `pem`.
ClientContext trusting(std::string_view pem);

/// A reply "HTTP/1.1 200 OK" with Content-Length.
std::string ok(std::string_view body, std::string_view extraHeaders = {});

}  // namespace dynamo::runtime::test
