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

/// Gives the TLS context for the next connection: called from any I/O thread for each of them, so it must
/// be quick and safe to call at the same time. nullptr refuses the connection. The context decides the TLS
/// versions, the certificate, client certificates and ALPN.
using TlsSource = std::function<std::shared_ptr<SSL_CTX>()>;

/// Whether the owner of this certificate may ask guarded routes: called from any I/O thread, once a
/// connection. That a CA of the TLS context signed it for a client has been verified.
using ClientCheck = std::function<bool(const X509& certificate)>;

struct ServerOptions {
  runtime::Endpoint listen;
  unsigned threads = 0;  ///< I/O threads; 0: one a processor that it may use
  unsigned workers = 2;  ///< threads for large bodies
  Limits limits;
  ServerEvents events;
  ClientCheck admits;  ///< empty: anyone may ask guarded routes
};

/// HTTP/1.1 over TLS, POST of JSON only. Each member function may be called
/// from any thread.
class Server {
 public:
  static std::variant<Server, runtime::StartError> start(ServerOptions options, FindRoute find,
                                                         TlsSource tls);

  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();  ///< stops without waiting for requests

  /// The actual port, also when 0 was asked for.
  std::uint16_t port() const;
  ServerMetrics metrics() const;
  /// From now on replies say `Connection: close`; connections are still accepted and served.
  void beginDrain();
  /// Closes the listeners and idle connections, finishes requests under way, and returns. What is not
  /// finished after `deadline` is cut; only a handler that is running is waited for longer.
  void stop(std::chrono::milliseconds deadline);

 private:
  explicit Server(std::unique_ptr<detail::Engine> engine);
  std::unique_ptr<detail::Engine> engine_;
};

}  // namespace dynamo::webhook
