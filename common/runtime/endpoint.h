#pragma once
// Network endpoints and listeners.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/fd.h"

namespace dynamo::runtime {

/// An IP address or a host name, and a TCP port. For a listener an empty address means all addresses, IPv4
/// and IPv6, and port 0 lets the system choose.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

/// Parses "10.0.0.1:9443", "[::1]:9443", "localhost:9443" or ":9443". Names are resolved when the endpoint is
/// used. The error is one sentence.
std::variant<Endpoint, std::string> parseEndpoint(std::string_view text);

/// Formats an endpoint as "10.0.0.1:9443", "[::1]:9443", or ":9443" for all addresses.
std::string toString(const Endpoint& endpoint);

/// Why a server did not start: one sentence with the address.
struct StartError {
  std::string message;
};

struct ListenOptions {
  /// Other sockets of the same user may share the port, in this process or another.
  bool reusePort = false;
  /// TCP_USER_TIMEOUT of accepted connections: the kernel ends a connection if sent bytes stay unacknowledged
  /// this long.
  std::chrono::milliseconds userTimeout;
};

struct Listening {
  UniqueFd fd;             ///< non-blocking, listening, TCP_NODELAY (accepted sockets inherit it)
  std::uint16_t port = 0;  ///< the actual port
};

/// Binds a socket and listens. The error contains the address and the reason.
std::variant<Listening, std::string> listenOn(const Endpoint& endpoint, const ListenOptions& options);

}  // namespace dynamo::runtime
