#include "common/runtime/endpoint.h"

#include <netinet/tcp.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "common/runtime/reason.h"
#include "common/runtime/socket_address.h"

namespace dynamo::runtime {
namespace {

// Many connections from API servers after a restart should be queued and not refused. The kernel lowers this
// value to net.core.somaxconn, 4096 by default.
constexpr int kBacklog = 65'535;
// By default the kernel buffers up to 4 MiB of a reply that the client does not read. This memory is charged
// to the pod, and no budget counts it.
constexpr int kSendBuffer = 256 << 10;

void enable(int fd, int level, int option, int value = 1) {
  // Best effort: without these options the server is only slower.
  static_cast<void>(setsockopt(fd, level, option, &value, sizeof value));
}

std::uint16_t portOf(int fd) {
  SocketAddress bound;
  bound.size = sizeof bound.storage;
  if (getsockname(fd, bound.get(), &bound.size) != 0) return 0;
  if (bound.family() == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &bound.storage, sizeof in);
    return ntohs(in.sin_port);
  }
  sockaddr_in6 in{};
  std::memcpy(&in, &bound.storage, sizeof in);
  return ntohs(in.sin6_port);
}

/// Returns 0 and sets `out`, or returns an errno.
int tryListen(const SocketAddress& address, const ListenOptions& options, UniqueFd& out) {
  UniqueFd fd{::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) return errno;
  enable(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  if (options.reusePort) enable(fd.get(), SOL_SOCKET, SO_REUSEPORT);
  if (address.family() == AF_INET6) enable(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  enable(fd.get(), IPPROTO_TCP, TCP_NODELAY);
  // Accepted connections inherit these options.
  enable(fd.get(), SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  enable(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(options.userTimeout.count()));
  if (::bind(fd.get(), address.get(), address.size) != 0) return errno;
  if (::listen(fd.get(), kBacklog) != 0) return errno;
  out = std::move(fd);
  return 0;
}

}  // namespace

std::variant<Endpoint, std::string> parseEndpoint(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return std::string{"\""}.append(text).append("\": ").append(why);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("must be ADDRESS:PORT or :PORT");
  Endpoint out;
  auto address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  } else if (address.find(':') != std::string_view::npos) {
    return bad("an IPv6 address must be in brackets, e.g. [::1]:9443");
  }
  out.address = address;
  const auto digits = text.substr(colon + 1);
  const auto end = digits.data() + digits.size();
  const auto [ptr, error] = std::from_chars(digits.data(), end, out.port);
  if (error != std::errc{} || ptr != end) return bad("the port must be a number from 0 to 65535");
  return out;
}

std::string toString(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

std::variant<Listening, std::string> listenOn(const Endpoint& endpoint, const ListenOptions& options) {
  const auto failed = [&](const std::string& why) {
    return "cannot listen on " + toString(endpoint) + ": " + why;
  };
  Listening out;
  int error = 0;
  if (endpoint.address.empty()) {
    error = tryListen(make6(in6addr_any, endpoint.port), options, out.fd);
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) {  // the node has no IPv6
      error = tryListen(make4(in_addr{}, endpoint.port), options, out.fd);
    }
  } else {
    const auto addresses = resolve(endpoint);
    if (const auto* why = std::get_if<std::string>(&addresses)) return failed(*why);
    error = tryListen(std::get<0>(addresses).front(), options, out.fd);
  }
  if (error != 0) return failed(reasonOf(error));
  out.port = portOf(out.fd.get());
  return out;
}

}  // namespace dynamo::runtime
