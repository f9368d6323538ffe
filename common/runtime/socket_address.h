#pragma once
// IP addresses as system calls take them.

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

/// Whether `text` is an IP address, which is never looked up and cannot be sent as a TLS server name.
bool isIpAddress(const std::string& text);

/// The addresses of an endpoint in the order in which to try them, at least one: IPv4 before IPv6, as Go has
/// it. Blocks while a name is looked up. The error is the reason alone.
std::variant<std::vector<SocketAddress>, std::string> resolve(const Endpoint& endpoint);

}  // namespace dynamo::runtime
