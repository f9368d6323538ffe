#pragma once
// Where a server listens, or is found.

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

/// "10.0.0.1:9443", "[::1]:9443", "localhost:9443" or ":9443". Names are resolved when used. The error is one
/// clear sentence.
std::variant<Endpoint, std::string> parseEndpoint(std::string_view text);

/// "10.0.0.1:9443", "[::1]:9443"; ":9443" for all addresses.
std::string toString(const Endpoint& endpoint);

/// Why a server did not start: one sentence that names the address.
struct StartError {
  std::string message;
};

struct ListenOptions {
  /// More sockets of this user, of this process or another, may share the port.
  bool reusePort = false;
  /// TCP_USER_TIMEOUT of accepted connections: the kernel ends one whose peer takes nothing for so long.
  std::chrono::milliseconds untaken;
};

struct Listening {
  UniqueFd fd;             ///< non-blocking, listening, TCP_NODELAY (accepted sockets inherit it)
  std::uint16_t port = 0;  ///< the actual one
};

/// Binds and listens. The error names address and reason.
std::variant<Listening, std::string> listenOn(const Endpoint& endpoint, const ListenOptions& options);

}  // namespace dynamo::runtime
