#include "common/runtime/connect.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/runtime/reason.h"
#include "common/runtime/socket_address.h"

namespace dynamo::runtime {
namespace {

// A peer whose host is gone is noticed within about a minute, while a watch waits for events that may not
// come.
constexpr int kProbeAfterSeconds = 30;
constexpr int kProbeEverySeconds = 10;
constexpr int kProbes = 3;

void setOption(int fd, int level, int option, int value) {
  // Best effort: without these options the client is slower to notice, not wrong.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

void keepAlive(int fd) {
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

/// A client reaches all addresses of its own host over the loopback.
Endpoint reachable(Endpoint endpoint) {
  if (endpoint.address.empty() || endpoint.address == "0.0.0.0") endpoint.address = "127.0.0.1";
  if (endpoint.address == "::") endpoint.address = "::1";
  return endpoint;
}

TransportError unreachable(const Endpoint& endpoint, const std::string& why) {
  return {Stage::Connect, TransportProblem::Unreachable,
          "cannot connect to " + toString(endpoint) + ": " + why};
}

using Addresses = std::variant<std::vector<SocketAddress>, std::string>;

Task<Transported<std::vector<SocketAddress>>> lookUp(EventLoop& loop, Endpoint endpoint, Deadline deadline) {
  // Shared with the look-up, which may end after the task.
  const auto found = std::make_shared<Addresses>();
  if (isIpAddress(endpoint.address)) {
    *found = resolve(endpoint);
  } else {
    std::function<void()> work = [found, endpoint] { *found = resolve(endpoint); };
    const Woken how = co_await loop.offload(std::move(work), deadline);
    if (how != Woken::Ready) co_return waitError(Stage::Connect, how);
  }
  if (const auto* why = std::get_if<std::string>(found.get())) co_return unreachable(endpoint, *why);
  co_return std::move(std::get<0>(*found));
}

Task<Transported<Descriptor>> connectOne(EventLoop& loop, Endpoint endpoint, SocketAddress address,
                                         Deadline deadline) {
  UniqueFd fd{::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) co_return unreachable(endpoint, reasonOf(errno));
  keepAlive(fd.get());
  const bool connected = ::connect(fd.get(), address.get(), address.size) == 0;
  if (!connected && errno != EINPROGRESS) co_return unreachable(endpoint, reasonOf(errno));
  Descriptor socket{loop, std::move(fd)};
  if (!connected) {
    const Woken how = co_await socket.writable(deadline);
    if (how == Woken::TimedOut) {
      co_return TransportError{Stage::Connect, TransportProblem::TimedOut,
                               unreachable(endpoint, "timed out").message};
    }
    if (how == Woken::Cancelled) co_return waitError(Stage::Connect, how);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) co_return unreachable(endpoint, reasonOf(error));
  }
  co_return std::move(socket);
}

}  // namespace

Task<Transported<Descriptor>> connectTo(EventLoop& loop, Endpoint endpoint, Deadline deadline) {
  endpoint = reachable(std::move(endpoint));
  auto addresses = co_await lookUp(loop, endpoint, deadline);
  if (auto* error = std::get_if<TransportError>(&addresses)) co_return std::move(*error);
  TransportError last;
  for (const SocketAddress& address : std::get<0>(addresses)) {
    auto connected = co_await connectOne(loop, endpoint, address, deadline);
    auto* const error = std::get_if<TransportError>(&connected);
    if (error == nullptr) co_return std::move(connected);
    last = std::move(*error);
    if (last.problem != TransportProblem::Unreachable) break;  // no time is left
  }
  co_return std::move(last);
}

}  // namespace dynamo::runtime
