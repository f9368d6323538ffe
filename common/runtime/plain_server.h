#pragma once
// The plain HTTP server of probes and metrics: GET and HEAD of pages that the program makes.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/runtime/endpoint.h"

namespace dynamo::runtime {

struct Page {
  int status = 200;
  std::string contentType;
  std::string body;
};

/// Pages by path. An exception is answered 500.
using Pages = std::map<std::string, std::function<Page()>, std::less<>>;

struct PlainListener {
  Endpoint listen;
  Pages pages;      ///< made on the server's thread
  Pages slow = {};  ///< made one after the other on a thread of their own: they hold nobody up
};

/// Deadlines and caps, each with its reason. Tests shorten them.
struct PlainLimits {
  /// Until the first byte: kept connections of a probe that connects early harm nobody.
  std::chrono::milliseconds idle{120'000};
  /// A request head fits one packet, so only a slow sender (slowloris) needs longer.
  std::chrono::milliseconds header{5'000};
  /// Of a reply; who takes 4 MiB a second has longer. Also TCP_USER_TIMEOUT: the kernel ends a connection
  /// whose client has taken nothing for so long.
  std::chrono::milliseconds write{15'000};
  /// The rest of a refused request is discarded this long: closing with unread bytes would send a reset that
  /// can destroy the answer on its way.
  std::chrono::milliseconds linger{2'000};
  /// Who lets us wait for so long to take its reply makes room for others when there are too many.
  std::chrono::milliseconds lagAfter{1'000};
  /// A connection that was opened but not used when the server stops may still send its request.
  std::chrono::milliseconds firstRequestGrace{1'000};
  /// Probes and scrapes come from a handful of clients.
  std::size_t connections = 256;
};

/// One request a connection, one thread for all its ports. What is refused is answered with a `v1.Status`, as
/// an API server does.
class PlainServer {
 public:
  static std::variant<PlainServer, StartError> start(std::vector<PlainListener> listeners,
                                                     const PlainLimits& limits = {});

  PlainServer(PlainServer&&) noexcept;
  PlainServer& operator=(PlainServer&&) noexcept;
  ~PlainServer();  ///< stops without waiting for requests

  /// The actual port of the n-th listener.
  std::uint16_t port(std::size_t listener) const;
  /// Closes the listeners and unused connections, finishes requests under way, and returns. What is not
  /// finished after `deadline` is cut; only a page that is being made is waited for longer.
  void stop(std::chrono::milliseconds deadline);

 private:
  class Impl;
  explicit PlainServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::runtime
