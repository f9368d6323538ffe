#pragma once
// Where a server listens.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "webhook/http/fd.h"

namespace dynamo::webhook {

/// An IP address or a host name, and a TCP port. An empty address means all addresses, IPv4 and IPv6. Port 0
/// lets the system choose.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

/// "10.0.0.1:9443", "[::1]:9443", "localhost:9443" or ":9443". Names are resolved when used. The error is one
/// clear sentence.
std::variant<Endpoint, std::string> parseEndpoint(std::string_view text);

/// "10.0.0.1:9443", "[::1]:9443"; ":9443" for all addresses.
std::string toString(const Endpoint& endpoint);

namespace detail {

struct Listening {
  UniqueFd fd;             ///< non-blocking, listening, TCP_NODELAY (accepted sockets inherit it)
  std::uint16_t port = 0;  ///< the actual one
};

/// Binds and listens. `reusePort` lets more sockets of this user, of this process or another, share the
/// port. The error names address and reason.
std::variant<Listening, std::string> listenOn(const Endpoint& endpoint, bool reusePort);

/// A connected non-blocking socket, or what went wrong. An empty address connects to the loopback.
std::variant<UniqueFd, std::string> connectTo(const Endpoint& endpoint, int timeoutMs);

}  // namespace detail
}  // namespace dynamo::webhook
