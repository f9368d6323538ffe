#pragma once
// What one I/O thread holds: its listeners, its connections and their turns.

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "webhook/http/connection.h"
#include "webhook/http/loop.h"

namespace dynamo::webhook::detail {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

/// The completion handler of a coroutine that runs as long as the loop. Its exceptions propagate out of
/// `run`.
inline void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// Counts a connection as open from accept to close.
class OpenCount {
 public:
  OpenCount(Shared& shared, std::atomic<std::size_t>& open) : shared_(&shared), open_(&open) {
    open_->fetch_add(1, std::memory_order_relaxed);
  }
  OpenCount(OpenCount&& other) noexcept
      : shared_(std::exchange(other.shared_, nullptr)), open_(other.open_) {}
  OpenCount& operator=(OpenCount&&) = delete;
  ~OpenCount() {
    if (shared_ == nullptr) return;
    open_->fetch_sub(1, std::memory_order_relaxed);
    shared_->connections.fetch_sub(1);
  }

 private:
  Shared* shared_;
  std::atomic<std::size_t>* open_;
};

struct Accepted {
  runtime::UniqueFd fd;
  OpenCount count;
  const Site* site;
};

struct Session {
  Session(asio::io_context& io, Accepted accepted, std::vector<Session*>& sessions)
      : count(std::move(accepted.count)), site(*accepted.site), socket(io), list(sessions) {
    socket.assign(Tcp::v6(), accepted.fd.get());
    static_cast<void>(accepted.fd.release());
    index = list.size();
    list.push_back(this);
  }
  ~Session() {
    list[index] = list.back();
    list[index]->index = index;
    list.pop_back();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  OpenCount count;
  const Site& site;
  Tcp::socket socket;
  std::unique_ptr<Connection> connection;  // uses the socket, so it is destroyed first
  std::vector<Session*>& list;
  std::size_t index = 0;
  Instant since = coarseNow();
  bool evicted = false;
};

struct Listener {
  Listener(asio::io_context& io, int fd, const Site& site_, std::function<Loop&()> choose_)
      : acceptor(io), site(&site_), choose(std::move(choose_)) {
    acceptor.assign(Tcp::v6(), fd);
  }
  Tcp::acceptor acceptor;
  const Site* site;
  std::function<Loop&()> choose;
};

class Loop::Impl {
 public:
  explicit Impl(Shared& shared_) : shared(shared_), guard(io.get_executor()), tick(io) {}

  asio::awaitable<void> accept(Listener& listener);
  asio::awaitable<void> serve(std::unique_ptr<Session> session);
  asio::awaitable<void> sweep();
  asio::awaitable<void> runOnWorker(Connection& connection);
  asio::awaitable<void> turn(Work work);
  void giveTurns();
  int acceptSome(Listener& listener, int most);
  bool evictOne();
  void start(Accepted accepted);
  void failed();

  Counters counters;
  Shared& shared;
  std::atomic<std::size_t> open{0};
  std::vector<Session*> sessions;
  // Only one thread runs it and other threads only post, so there is no contention for the scheduler's lock.
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  asio::steady_timer tick;
  std::deque<Listener> listeners;
  using Queue = std::deque<std::function<void()>>;
  Queue handshakes;         ///< handshakes that wait for a turn
  Queue bulk;               ///< large bodies and replies that wait for a turn
  bool givesTurns = false;  ///< giveTurns is posted
  std::minstd_rand random;  // selects connections to check; need not be secure
  std::size_t freed = 0;    ///< connections that released memory since the last trim
  Instant logged{};         ///< the last line about a failed connection
  bool finished = false;
};

}  // namespace dynamo::webhook::detail
