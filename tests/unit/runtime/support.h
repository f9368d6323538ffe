#pragma once
// A plain client, and a TLS server that does what a test tells it, misbehaviour included.

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

/// So long from now.
inline Deadline in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// Waits until `condition`, longer than any machine is held up.
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
  /// `receiveBuffer`: bytes that the kernel takes before the client does; 0: as many as usual.
  explicit PlainClient(std::uint16_t port, int receiveBuffer = 0);

  /// False when the server has closed.
  bool send(std::string_view bytes) const;
  /// At most `most` bytes that have come; empty when the server has closed, or when nothing came in time.
  std::string receive(std::size_t most = 65'536) const;
  /// Everything until the server closes.
  std::string receiveAll() const;
  std::string ask(std::string_view bytes) const { return send(bytes) ? receiveAll() : ""; }
  /// The server closes without another byte.
  bool closedByServer() const;
  void endOfStream() const;

 private:
  UniqueFd fd_;
};

/// A CA, and certificates that it signs, valid from an hour ago to an hour from now.
class Authority {
 public:
  explicit Authority(const std::string& name = "test CA");

  const std::string& pem() const { return pair_.certificate; }
  /// `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". It ends at `end` from now.
  certs::PemPair sign(const std::string& names, std::chrono::seconds end = 3600s) const;

 private:
  certs::PemPair pair_;
};

/// A connection as the scripted server sees it. Blocking; every wait is bounded by 10 s.
class PeerConnection {
 public:
  PeerConnection(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}

  /// The next request, head and body; empty when the client has closed.
  std::string request();
  void send(std::string_view bytes);
  /// Closes with close_notify.
  void goodbye();
  /// Closes with a TCP reset.
  void reset();
  /// Waits until the client has closed.
  void waitForEnd();
  SSL* ssl() const { return ssl_; }

 private:
  int fd_;
  SSL* ssl_;
  std::string buffer_;
};

/// A server on the loopback. `script` serves each connection after its handshake; when it returns, the socket
/// is closed without close_notify.
class ScriptedPeer {
 public:
  using Script = std::function<void(PeerConnection&)>;

  ScriptedPeer(const certs::PemPair& pair, Script script, std::function<void(SSL_CTX*)> change = {});
  ~ScriptedPeer();
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  std::uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }

 private:
  void serve();

  ContextPtr context_;
  Script script_;
  UniqueFd listener_;
  UniqueFd stop_;
  std::uint16_t port_ = 0;
  std::atomic<int> accepted_{0};
  std::thread thread_;
};

/// A client context that trusts the CAs of `pem`.
ClientContext trusting(std::string_view pem);

/// "HTTP/1.1 200 OK" with a length.
std::string ok(std::string_view body, std::string_view extraHeaders = {});

}  // namespace dynamo::runtime::test
