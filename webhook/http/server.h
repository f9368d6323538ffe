#pragma once
// The HTTPS server of the webhook.

#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "common/runtime/endpoint.h"
#include "webhook/http/events.h"
#include "webhook/http/exchange.h"
#include "webhook/http/limits.h"
#include "webhook/http/metrics.h"

namespace dynamo::webhook {

namespace detail {
class Engine;
}

/// Returns the TLS context for the next connection, or nullptr to refuse it. Called on any I/O thread for
/// every connection, so it must be quick and thread-safe. The context determines the TLS versions, the
/// certificate, the verification of client certificates and ALPN.
using TlsSource = std::function<std::shared_ptr<SSL_CTX>()>;

/// Whether a client with this certificate may use guarded routes. Called on any I/O thread, once per
/// connection. The certificate has already been verified against the CAs of the TLS context.
using ClientCheck = std::function<bool(const X509& certificate)>;

struct ServerOptions {
  runtime::Endpoint listen;
  unsigned threads = 0;  ///< I/O threads; 0: one per usable processor
  unsigned workers = 2;  ///< threads for large bodies
  Limits limits;
  ServerEvents events;
  ClientCheck admits;  ///< empty: any client may use guarded routes
};

/// HTTP/1.1 over TLS, for POST of JSON only. All member functions may be called from any thread.
class Server {
 public:
  static std::variant<Server, runtime::StartError> start(ServerOptions options, FindRoute find,
                                                         TlsSource tls);

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();  ///< stops without waiting for requests

  /// The actual port, also if port 0 was requested.
  std::uint16_t port() const;
  ServerMetrics metrics() const;
  /// From now on replies have `Connection: close`. Connections are still accepted and served.
  void beginDrain();
  /// Closes the listeners and idle connections, finishes the requests in progress, and returns. Requests that
  /// are not finished after `deadline` are aborted, but a running handler is always awaited.
  void stop(std::chrono::milliseconds deadline);

 private:
  explicit Server(std::unique_ptr<detail::Engine> engine);
  std::unique_ptr<detail::Engine> engine_;
};

}  // namespace dynamo::webhook
