#include "webhook/http/endpoint.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "webhook/http/limits.h"

namespace dynamo::webhook {
namespace {

// The kernel lowers it to net.core.somaxconn (4096 by default): a storm of API server connections after
// a restart should queue, not be refused.
constexpr int kBacklog = 65'535;
// By default the kernel takes up to 4 MiB of a reply that nobody reads, on the pod's account and unseen by
// budgets.
constexpr int kSendBuffer = 256 << 10;

std::string reasonOf(int error) {
  return std::generic_category().message(error);
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return static_cast<const sockaddr*>(static_cast<const void*>(&storage)); }
  sockaddr* get() { return static_cast<sockaddr*>(static_cast<void*>(&storage)); }
  int family() const { return storage.ss_family; }
};

SocketAddress make4(const in_addr& address, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr = address;
  in.sin_port = htons(port);
  SocketAddress out;
  std::memcpy(&out.storage, &in, sizeof in);
  out.size = sizeof in;
  return out;
}

SocketAddress make6(const in6_addr& address, std::uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_addr = address;
  in.sin6_port = htons(port);
  SocketAddress out;
  std::memcpy(&out.storage, &in, sizeof in);
  out.size = sizeof in;
  return out;
}

/// The first address of a host name, IPv4 before IPv6 as Go has it, or why there is none.
std::variant<SocketAddress, std::string> resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error =
      getaddrinfo(endpoint.address.c_str(), std::to_string(endpoint.port).c_str(), &hints, &list);
  if (error != 0) return error == EAI_SYSTEM ? reasonOf(errno) : std::string{gai_strerror(error)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner{list, &freeaddrinfo};
  const addrinfo* chosen = list;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET) continue;
    chosen = one;
    break;
  }
  SocketAddress out;
  std::memcpy(&out.storage, chosen->ai_addr, chosen->ai_addrlen);
  out.size = chosen->ai_addrlen;
  return out;
}

std::variant<SocketAddress, std::string> toSocketAddress(const Endpoint& endpoint) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, endpoint.address.c_str(), &v4) == 1) return make4(v4, endpoint.port);
  if (inet_pton(AF_INET6, endpoint.address.c_str(), &v6) == 1) return make6(v6, endpoint.port);
  return resolve(endpoint);
}

void enable(int fd, int level, int option, int value = 1) {
  // Best effort: without these options the server is slower, not wrong.
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

/// errno, or 0 when `out` listens.
int tryListen(const SocketAddress& address, bool reusePort, detail::UniqueFd& out) {
  detail::UniqueFd fd{::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) return errno;
  enable(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  if (reusePort) enable(fd.get(), SOL_SOCKET, SO_REUSEPORT);
  if (address.family() == AF_INET6) enable(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  enable(fd.get(), IPPROTO_TCP, TCP_NODELAY);
  // Connections inherit these.
  enable(fd.get(), SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  enable(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUntakenDeadline.count()));
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

namespace detail {

std::variant<Listening, std::string> listenOn(const Endpoint& endpoint, bool reusePort) {
  const auto failed = [&](const std::string& why) {
    return "cannot listen on " + toString(endpoint) + ": " + why;
  };
  Listening out;
  int error = 0;
  if (endpoint.address.empty()) {
    error = tryListen(make6(in6addr_any, endpoint.port), reusePort, out.fd);
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) {  // a node without IPv6
      error = tryListen(make4(in_addr{}, endpoint.port), reusePort, out.fd);
    }
  } else {
    const auto address = toSocketAddress(endpoint);
    if (const auto* why = std::get_if<std::string>(&address)) return failed(*why);
    error = tryListen(std::get<SocketAddress>(address), reusePort, out.fd);
  }
  if (error != 0) return failed(reasonOf(error));
  out.port = portOf(out.fd.get());
  return out;
}

std::variant<UniqueFd, std::string> connectTo(const Endpoint& endpoint, int timeoutMs) {
  Endpoint target = endpoint;
  if (target.address.empty() || target.address == "0.0.0.0") target.address = "127.0.0.1";
  if (target.address == "::") target.address = "::1";
  const auto failed = [&](const std::string& why) {
    return "cannot connect to " + toString(target) + ": " + why;
  };
  const auto resolved = toSocketAddress(target);
  if (const auto* why = std::get_if<std::string>(&resolved)) return failed(*why);
  const auto* address = &std::get<SocketAddress>(resolved);
  UniqueFd fd{::socket(address->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) return failed(reasonOf(errno));
  enable(fd.get(), IPPROTO_TCP, TCP_NODELAY);
  if (::connect(fd.get(), address->get(), address->size) != 0) {
    if (errno != EINPROGRESS) return failed(reasonOf(errno));
    pollfd wait{fd.get(), POLLOUT, 0};
    if (::poll(&wait, 1, timeoutMs) <= 0) return failed("timed out");
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) return failed(reasonOf(error));
  }
  return fd;
}

}  // namespace detail
}  // namespace dynamo::webhook
