#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/bench/loader/response.h"

namespace dynamo::bench {

using Clock = std::chrono::steady_clock;

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslFree>;

/// A client context that only offers the API server's first choices: TLS 1.3, AES-128-GCM, X25519, ALPN
/// http/1.1. A single offer makes the servers comparable. The certificate chain is not verified, because
/// verification costs OpenSSL 3.0 more than the rest of a handshake, and `run` has verified it. Throws
/// std::runtime_error.
SslContext makeClientContext();

/// One non-blocking TLS connection to 127.0.0.1:port that carries one request at a time.
class Connection {
 public:
  /// kGone: the server closed an idle connection, which is allowed.
  enum class Step { kWaiting, kReady, kAnswered, kFailed, kGone };

  Connection(SSL_CTX* context, int epoll, std::uint16_t port, std::uint32_t number);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Starts a TCP connection. `kReady` is returned when TLS is established.
  Step open();
  /// Ends the connection: close_notify, then close.
  void close();
  /// Sends `request`, whose bytes must outlive the answer. `started` is the start of its latency.
  Step send(std::string_view request, Clock::time_point started);
  /// Continues as far as the socket allows. Must be called on every event, because the socket is
  /// edge-triggered, which saves an epoll_ctl per request.
  Step drive();

  bool isOpen() const { return phase_ != Phase::kClosed; }
  bool isBusy() const { return phase_ == Phase::kWriting || phase_ == Phase::kReading; }
  Clock::time_point started() const { return started_; }
  void setStarted(Clock::time_point time) { started_ = time; }
  const Response& response() const { return response_; }
  /// Protocol and cipher of the session, e.g. "TLSv1.3 TLS_AES_128_GCM_SHA256".
  std::string session() const;
  const std::string& failure() const { return failure_; }

 private:
  enum class Phase { kClosed, kConnecting, kHandshaking, kIdle, kWriting, kReading };
  Step fail(std::string_view what, int result);
  Step handshake();
  Step write();
  Step read();

  SSL_CTX* context_;
  std::unique_ptr<SSL, SslFree> ssl_;
  std::string_view request_;
  Response response_;
  std::string failure_;
  Clock::time_point started_;
  int epoll_;
  int socket_ = -1;
  std::uint32_t number_;
  std::uint32_t opened_ = 0;
  std::uint16_t port_;
  Phase phase_ = Phase::kClosed;
};

}  // namespace dynamo::bench
