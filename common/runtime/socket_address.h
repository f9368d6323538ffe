#pragma once
// IP addresses for system calls.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/runtime/endpoint.h"

namespace dynamo::runtime {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return static_cast<const sockaddr*>(static_cast<const void*>(&storage)); }
  sockaddr* get() { return static_cast<sockaddr*>(static_cast<void*>(&storage)); }
  int family() const { return storage.ss_family; }
};

SocketAddress make4(const in_addr& address, std::uint16_t port);
SocketAddress make6(const in6_addr& address, std::uint16_t port);

/// Returns whether `text` is an IP address. Addresses are never resolved and cannot be sent as a TLS server
/// name.
bool isIpAddress(const std::string& text);

/// Resolves an endpoint to at least one address. IPv4 addresses come before IPv6 addresses, as in Go. Blocks
/// while a name is resolved. The error message does not contain the address.
std::variant<std::vector<SocketAddress>, std::string> resolve(const Endpoint& endpoint);

}  // namespace dynamo::runtime
