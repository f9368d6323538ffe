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

// Out of descriptors or memory: accepting again at once would only burn the processor.
constexpr std::chrono::milliseconds kAcceptPause{50};
// Of connections that fail by an exception one is logged in so long.
constexpr std::chrono::seconds kLogEvery{1};
// Accepted in a row before the connections have a turn.
constexpr int kAcceptBatch = 8;
// Accepted at most before a listener closes: more than a listen queue holds.
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
  struct Door {
    const PlainListener& listener;
    std::optional<Descriptor> socket;
  };

  void run();
  Task<void> accept(Door& door);
  using Connections = std::list<PlainConnection*>;
  Task<void> serve(std::unique_ptr<PlainConnection> connection, Connections::iterator place);
  int acceptSome(Door& door, int most);
  bool makeRoom();
  void failed();

  const PlainLimits limits;
  std::vector<PlainListener> listeners;
  EventLoop loop;
  std::list<Door> doors;
  Connections connections;  ///< in the order in which they came
  bool closing = false;
  Clock::time_point logged{};  ///< the last line about a failed connection
  std::promise<void> ended;
  std::vector<std::thread> threads;
  std::mutex stopMutex;
};

/// Who floods us with connections must not keep probes out: the oldest that has asked nothing yet makes room,
/// or else one that does not take its reply. False when there is none.
bool PlainServer::Impl::makeRoom() {
  const auto now = Clock::now();
  auto goes =
      std::find_if(connections.begin(), connections.end(), [](const auto* each) { return each->unused(); });
  if (goes == connections.end()) {
    goes = std::find_if(connections.begin(), connections.end(),
                        [&](const auto* each) { return each->lags(now); });
  }
  if (goes == connections.end()) return false;
  (*goes)->cut();
  return true;
}

/// 0, or the error that stopped accepting: EAGAIN when the queue is empty.
int PlainServer::Impl::acceptSome(Door& door, int most) {
  for (int i = 0; i < most; ++i) {
    UniqueFd fd{::accept4(door.socket->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!fd) {
      if (isTransient(errno)) continue;
      return errno;
    }
    if (connections.size() >= limits.connections && !makeRoom()) continue;
    try {
      auto connection = std::make_unique<PlainConnection>(loop, std::move(fd), door.listener, limits);
      if (closing) connection->hurry();
      const auto place = connections.insert(connections.end(), connection.get());
      loop.spawn(serve(std::move(connection), place));
    } catch (const std::exception&) {  // out of memory or of epoll watches: this connection only
    }
  }
  return 0;
}

Task<void> PlainServer::Impl::accept(Door& door) {
  while (!closing && !loop.stopping()) {
    static_cast<void>(co_await door.socket->readable());
    const int stopped = acceptSome(door, kAcceptBatch);
    if (stopped == 0 || stopped == EAGAIN) continue;
    if (stopped == EMFILE || stopped == ENFILE) makeRoom();
    static_cast<void>(co_await loop.sleepUntil(Clock::now() + kAcceptPause));
  }
  // Clients in the queue think that they are connected: closing the listener would reset them.
  acceptSome(door, kAcceptLast);
  door.socket.reset();
}

Task<void> PlainServer::Impl::serve(std::unique_ptr<PlainConnection> connection,
                                    Connections::iterator place) {
  try {
    co_await connection->serve();
  } catch (...) {
    failed();
  }
  connections.erase(place);
}

/// An exception of ours has ended a connection; the others are served on. Its text may quote the request, its
/// type does not.
void PlainServer::Impl::failed() {
  const auto now = Clock::now();
  if (logged != Clock::time_point{} && now - logged < kLogEvery) return;
  logged = now;
  kLog.error("a connection failed by an exception", {{"type", currentExceptionType()}});
}

void PlainServer::Impl::run() {
  // A server that accepts no more only looks alive: it is started anew.
  try {
    loop.run();
  } catch (const std::exception& failure) {
    kLog.fatal("the loop of a server failed", {{"type", currentExceptionType()}, {"reason", failure.what()}});
  } catch (...) {
    kLog.fatal("the loop of a server failed", {{"type", currentExceptionType()}});
  }
  ended.set_value();
}

std::variant<std::monostate, StartError> PlainServer::Impl::start() {
  for (const PlainListener& listener : listeners) {
    // Without SO_REUSEPORT: a second process on the port is a mistake here, and is told so.
    auto listening = listenOn(listener.listen, {false, limits.write});
    if (auto* error = std::get_if<std::string>(&listening)) return StartError{std::move(*error)};
    auto& [fd, port] = std::get<Listening>(listening);
    ports.push_back(port);
    Door& door = doors.emplace_back(Door{listener, std::nullopt});
    door.socket.emplace(loop, std::move(fd));
    loop.spawn(accept(door));
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
    for (Door& door : doors) {
      if (door.socket) door.socket->cancel();
    }
    for (PlainConnection* const connection : connections) connection->hurry();
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
} catch (const std::system_error& error) {  // when there are no descriptors left
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
