#pragma once
// The server for probes and metrics: GET and HEAD of generated pages, over HTTP or HTTPS.

#include <openssl/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/task.h"

namespace dynamo::runtime {

struct Page {
  int status = 200;
  std::string contentType;
  std::string body;
};

/// Pages by path. An exception is answered with 500.
using Pages = std::map<std::string, std::function<Page()>, std::less<>>;

/// Returns the reply to a client that may not see the pages, or nullopt if it may. `authorization` is the
/// value of the header, or empty. Called on the server's thread for each request of an existing page.
/// Requests wait for it, so the guard limits how many wait at the same time and for how long.
using Guard = std::function<Task<std::optional<Page>>(std::string authorization)>;

struct PlainListener {
  Endpoint listen;
  Pages pages;  ///< generated on the server's thread
  Pages slow =
      {};  ///< generated one after the other on a separate thread, so that they do not delay other pages
  /// Returns the context for a new connection. Called on the server's thread. Empty: HTTP without TLS.
  std::function<std::shared_ptr<SSL_CTX>()> tls = {};
  /// Makes the guard, which may use the loop of the server. It is destroyed before the loop. Empty: all
  /// clients may see the pages.
  std::function<Guard(EventLoop&)> guard = {};
};

/// Deadlines and limits. Tests shorten them.
struct PlainLimits {
  /// Timeout of the first byte. It is long because unused connections of probes are harmless.
  std::chrono::milliseconds idle{120'000};
  /// Timeout of a request head, and of a TLS handshake. A head fits into one packet, so only a slow sender
  /// (slowloris) needs longer.
  std::chrono::milliseconds header{5'000};
  /// Timeout of a reply. It is extended while the client receives 4 MiB per second. Also TCP_USER_TIMEOUT:
  /// the kernel ends a connection if sent bytes stay unacknowledged for this time.
  std::chrono::milliseconds write{15'000};
  /// The time during which the rest of a rejected request is discarded. Closing a socket with unread bytes
  /// would send a reset, and the client could lose the reply.
  std::chrono::milliseconds linger{2'000};
  /// A client that delays its reply for this time may be disconnected if there are too many connections.
  std::chrono::milliseconds lagAfter{1'000};
  /// When the server stops, an unused connection may still send its request during this time.
  std::chrono::milliseconds firstRequestGrace{1'000};
  /// Maximum number of connections. Only a few clients send probes and scrapes.
  std::size_t connections = 256;
};

/// Serves one request per connection, on one thread for all ports. Refused requests are answered with a
/// `v1.Status`, as an API server does.
class PlainServer {
 public:
  static std::variant<PlainServer, StartError> start(std::vector<PlainListener> listeners,
                                                     const PlainLimits& limits = {});

  PlainServer(PlainServer&&) noexcept;
  PlainServer& operator=(PlainServer&&) noexcept;
  ~PlainServer();  ///< stops without waiting for requests

  /// Returns the actual port of the n-th listener.
  std::uint16_t port(std::size_t listener) const;
  /// Closes the listeners and unused connections, finishes the requests in progress, and returns. Requests
  /// that are not finished after `deadline` are aborted, but a page that is being generated is always
  /// awaited.
  void stop(std::chrono::milliseconds deadline);

 private:
  class Impl;
  explicit PlainServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::runtime
