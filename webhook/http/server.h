#pragma once
// The HTTPS server of the webhook and the plain one of its probes and metrics.

#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "webhook/http/endpoint.h"
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

/// Why a server did not start: one sentence that names the address.
struct StartError {
  std::string message;
};

struct ServerOptions {
  Endpoint listen;
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
  static std::variant<Server, StartError> start(ServerOptions options, FindRoute find, TlsSource tls);

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

/// Pages by path. An exception is answered 500.
using Pages = std::map<std::string, std::function<Reply()>, std::less<>>;

struct PlainListener {
  Endpoint listen;
  Pages pages;      ///< made on the server's thread
  Pages slow = {};  ///< made one after the other on a thread of their own: they hold nobody up
};

/// Plain HTTP, GET and HEAD, one request a connection, one thread for all its ports.
class PlainServer {
 public:
  static std::variant<PlainServer, StartError> start(std::vector<PlainListener> listeners,
                                                     const Limits& limits = {});

  PlainServer(PlainServer&&) noexcept;
  PlainServer& operator=(PlainServer&&) noexcept;
  ~PlainServer();

  /// The actual port of the n-th listener.
  std::uint16_t port(std::size_t listener) const;
  void stop(std::chrono::milliseconds deadline);

 private:
  explicit PlainServer(std::unique_ptr<detail::Engine> engine);
  std::unique_ptr<detail::Engine> engine_;
};

}  // namespace dynamo::webhook
