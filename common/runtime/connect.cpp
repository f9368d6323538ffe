#include "common/runtime/connect.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/runtime/reason.h"

namespace dynamo::runtime {
namespace {

// TCP keep-alive detects a lost peer within about a minute. Without it, a watch could wait for events
// forever.
constexpr int kProbeAfterSeconds = 30;
constexpr int kProbeEverySeconds = 10;
constexpr int kProbes = 3;
/// A connection whose peer does not acknowledge sent bytes for this time is closed. A request on a kept
/// connection to a server that has lost its power is then sent again on another connection, before the
/// renewal of a Lease times out.
constexpr int kUnacknowledgedMs = 4000;

void setOption(int fd, int level, int option, int value) {
  // Best effort: without these options a lost peer is only detected later.
  static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
}

void keepAlive(int fd) {
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kProbeAfterSeconds);
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeEverySeconds);
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

/// Replaces a wildcard address (empty, 0.0.0.0 or ::) with the loopback address.
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

Task<TransportResult<std::vector<SocketAddress>>> resolveEndpoint(EventLoop& loop, Endpoint endpoint,
                                                                  Deadline deadline) {
  // The result is shared with the lookup, which may outlive this task.
  const auto found = std::make_shared<Addresses>();
  if (isIpAddress(endpoint.address)) {
    *found = resolve(endpoint);
  } else {
    std::function<void()> work = [found, endpoint] { *found = resolve(endpoint); };
    const WaitResult how = co_await loop.offload(std::move(work), deadline);
    if (how != WaitResult::Ready) co_return waitError(Stage::Connect, how);
  }
  if (const auto* why = std::get_if<std::string>(found.get())) co_return unreachable(endpoint, *why);
  co_return std::move(std::get<0>(*found));
}

Task<TransportResult<Descriptor>> connectOne(EventLoop& loop, Endpoint endpoint, SocketAddress address,
                                             Deadline deadline) {
  UniqueFd fd{::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!fd) co_return unreachable(endpoint, reasonOf(errno));
  keepAlive(fd.get());
  const bool connected = ::connect(fd.get(), address.get(), address.size) == 0;
  if (!connected && errno != EINPROGRESS) co_return unreachable(endpoint, reasonOf(errno));
  Descriptor socket{loop, std::move(fd)};
  if (!connected) {
    const WaitResult how = co_await socket.writable(deadline);
    if (how == WaitResult::TimedOut) {
      co_return TransportError{Stage::Connect, TransportProblem::TimedOut,
                               unreachable(endpoint, "timed out").message};
    }
    if (how == WaitResult::Cancelled) co_return waitError(Stage::Connect, how);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) co_return unreachable(endpoint, reasonOf(error));
  }
  co_return std::move(socket);
}

/// Divides the time until `deadline` into `attempts` equal parts, and returns the end of the first part.
Deadline shareOf(Deadline deadline, std::size_t attempts) {
  const Deadline now = std::chrono::steady_clock::now();
  if (deadline == kNoDeadline || deadline <= now || attempts <= 1) return deadline;
  return now + (deadline - now) / static_cast<Deadline::rep>(attempts);
}

}  // namespace

Task<TransportResult<Descriptor>> connectToAny(EventLoop& loop, Endpoint endpoint,
                                               std::vector<SocketAddress> addresses, Deadline deadline) {
  TransportError last;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Deadline share = shareOf(deadline, addresses.size() - i);
    auto connected = co_await connectOne(loop, endpoint, addresses[i], share);
    auto* const error = std::get_if<TransportError>(&connected);
    if (error == nullptr) co_return std::move(connected);
    last = std::move(*error);
    if (last.problem == TransportProblem::Cancelled) break;
  }
  co_return std::move(last);
}

Task<TransportResult<Descriptor>> connectTo(EventLoop& loop, Endpoint endpoint, Deadline deadline) {
  endpoint = reachable(std::move(endpoint));
  auto addresses = co_await resolveEndpoint(loop, endpoint, deadline);
  if (auto* error = std::get_if<TransportError>(&addresses)) co_return std::move(*error);
  co_return co_await connectToAny(loop, endpoint, std::move(std::get<0>(addresses)), deadline);
}

}  // namespace dynamo::runtime
