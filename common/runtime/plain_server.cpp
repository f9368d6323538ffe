#include "common/runtime/plain_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "common/observability/log.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/exception_type.h"
#include "common/runtime/plain_connection.h"
#include "common/runtime/workers.h"

namespace dynamo::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr log::Logger kLog{"http"};

// Pause when descriptors or memory are exhausted. Accepting again immediately would waste processor time.
constexpr std::chrono::milliseconds kAcceptPause{50};
// At most one failed connection is logged in this interval.
constexpr std::chrono::seconds kLogEvery{1};
// The number of connections to accept before the existing connections are served.
constexpr int kAcceptBatch = 8;
// Connections to accept before a listener closes: more than a listen queue can hold.
constexpr int kAcceptLast = 65'536;

bool isTransient(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
         error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

class PlainServer::Impl {
 public:
  explicit Impl(std::vector<PlainListener> listeners_, const PlainLimits& limits_)
      : limits(limits_), listeners(std::move(listeners_)) {}
  ~Impl() { stop(std::chrono::milliseconds{0}); }

  std::variant<std::monostate, StartError> start();
  void stop(std::chrono::milliseconds deadline);

  std::vector<std::uint16_t> ports;

 private:
  struct Acceptor {
    const PlainListener& listener;
    Guard guard;  ///< may be empty
    std::optional<Descriptor> socket;
  };

  void run();
  Task<void> accept(Acceptor& acceptor);
  using Connections = std::list<PlainConnection*>;
  Task<void> serve(std::unique_ptr<PlainConnection> connection, Connections::iterator place);
  int acceptSome(Acceptor& acceptor, int max);
  bool evictOne();
  void logFailure();

  const PlainLimits limits;
  std::vector<PlainListener> listeners;
  EventLoop loop;
  std::list<Acceptor> acceptors;
  Connections connections;  ///< in the order of acceptance
  bool closing = false;
  Clock::time_point logged{};  ///< the last line about a failed connection
  std::promise<void> ended;
  std::vector<std::thread> threads;
  std::mutex stopMutex;
};

/// Ends a connection to make room for another, so that a flood of connections does not block probes. Selects
/// the oldest unused connection, or otherwise one that is slow to receive its reply. Returns false if there
/// is no such connection.
bool PlainServer::Impl::evictOne() {
  const auto now = Clock::now();
  auto evicted =
      std::find_if(connections.begin(), connections.end(), [](const auto* each) { return each->unused(); });
  if (evicted == connections.end()) {
    evicted = std::find_if(connections.begin(), connections.end(),
                           [&](const auto* each) { return each->lags(now); });
  }
  if (evicted == connections.end()) return false;
  (*evicted)->abort();
  return true;
}

/// Accepts at most `max` connections. Returns 0 or an errno, which is EAGAIN if the queue is empty.
int PlainServer::Impl::acceptSome(Acceptor& acceptor, int max) {
  for (int i = 0; i < max; ++i) {
    UniqueFd fd{::accept4(acceptor.socket->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!fd) {
      if (isTransient(errno)) continue;
      return errno;
    }
    if (connections.size() >= limits.connections && !evictOne()) continue;
    try {
      auto connection =
          std::make_unique<PlainConnection>(loop, std::move(fd), acceptor.listener, acceptor.guard, limits);
      if (closing) connection->beginStop();
      const auto place = connections.insert(connections.end(), connection.get());
      loop.spawn(serve(std::move(connection), place));
    } catch (const std::exception&) {  // out of memory or epoll watches: only this connection fails
    }
  }
  return 0;
}

Task<void> PlainServer::Impl::accept(Acceptor& acceptor) {
  while (!closing && !loop.stopping()) {
    static_cast<void>(co_await acceptor.socket->readable());
    const int stopped = acceptSome(acceptor, kAcceptBatch);
    if (stopped == 0 || stopped == EAGAIN) continue;
    if (stopped == EMFILE || stopped == ENFILE) evictOne();
    static_cast<void>(co_await loop.sleepUntil(Clock::now() + kAcceptPause));
  }
  // Clients in the queue are already connected. Closing the listener would reset them, so they are accepted
  // first.
  acceptSome(acceptor, kAcceptLast);
  acceptor.socket.reset();
}

Task<void> PlainServer::Impl::serve(std::unique_ptr<PlainConnection> connection,
                                    Connections::iterator place) {
  try {
    co_await connection->serve();
  } catch (...) {
    logFailure();
  }
  connections.erase(place);
}

/// Logs an exception that has ended a connection. Only the type is logged, because the text may quote the
/// request.
void PlainServer::Impl::logFailure() {
  const auto now = Clock::now();
  if (logged != Clock::time_point{} && now - logged < kLogEvery) return;
  logged = now;
  kLog.error("a connection failed with an exception", {{"type", currentExceptionType()}});
}

void PlainServer::Impl::run() {
  // A server that no longer accepts connections must end, so that it is restarted.
  try {
    loop.run();
  } catch (const std::exception& failure) {
    kLog.fatal("the server loop failed", {{"type", currentExceptionType()}, {"reason", failure.what()}});
  } catch (...) {
    kLog.fatal("the server loop failed", {{"type", currentExceptionType()}});
  }
  ended.set_value();
}

std::variant<std::monostate, StartError> PlainServer::Impl::start() {
  for (const PlainListener& listener : listeners) {
    // Without SO_REUSEPORT, so that a second process on the same port is an error.
    auto listening = listenOn(listener.listen, {false, limits.write});
    if (auto* error = std::get_if<std::string>(&listening)) return StartError{std::move(*error)};
    auto& [fd, port] = std::get<Listening>(listening);
    ports.push_back(port);
    Acceptor& acceptor = acceptors.emplace_back(
        Acceptor{listener, listener.guard ? listener.guard(loop) : Guard{}, std::nullopt});
    acceptor.socket.emplace(loop, std::move(fd));
    loop.spawn(accept(acceptor));
  }
  if (const auto error = startThread(threads, [this] { run(); })) {
    return StartError{"cannot start a thread: " + error.message()};
  }
  return {};
}

void PlainServer::Impl::stop(std::chrono::milliseconds deadline) {
  const std::lock_guard lock{stopMutex};
  if (threads.empty()) return;
  loop.post([this] {
    closing = true;
    for (Acceptor& acceptor : acceptors) {
      if (acceptor.socket) acceptor.socket->cancel();
    }
    for (PlainConnection* const connection : connections) connection->beginStop();
  });
  if (ended.get_future().wait_for(deadline) != std::future_status::ready) loop.stop();
  threads.front().join();
  threads.clear();
}

std::variant<PlainServer, StartError> PlainServer::start(std::vector<PlainListener> listeners,
                                                         const PlainLimits& limits) try {
  auto impl = std::make_unique<Impl>(std::move(listeners), limits);
  auto started = impl->start();
  if (auto* error = std::get_if<StartError>(&started)) return std::move(*error);
  return PlainServer{std::move(impl)};
} catch (const std::system_error& error) {  // thrown when no file descriptors are left
  return StartError{"cannot start a server: " + error.code().message()};
}

PlainServer::PlainServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PlainServer::PlainServer(PlainServer&&) noexcept = default;
PlainServer& PlainServer::operator=(PlainServer&&) noexcept = default;
PlainServer::~PlainServer() = default;

std::uint16_t PlainServer::port(std::size_t listener) const {
  return impl_->ports.at(listener);
}
void PlainServer::stop(std::chrono::milliseconds deadline) {
  impl_->stop(deadline);
}

}  // namespace dynamo::runtime
