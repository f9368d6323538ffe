#include "webhook/http/loop.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <deque>
#include <exception>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "common/observability/log.h"
#include "common/runtime/exception_type.h"
#include "webhook/http/connection.h"

namespace dynamo::webhook::detail {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

using runtime::currentExceptionType;
using runtime::UniqueFd;

constexpr log::Logger kLog{"http"};

// Out of descriptors or memory: accepting again at once would only burn the processor.
constexpr std::chrono::milliseconds kAcceptPause{50};
// How often it is looked whether a client that sends no more has taken its reply.
constexpr std::chrono::milliseconds kTakenPause{50};
// Of connections that fail by an exception one is logged in so long.
constexpr std::chrono::seconds kLogEvery{1};
// Closed or idle connections after which, in a quiet moment, their memory goes back: about 3 MiB.
constexpr std::size_t kTrimAfter = 64;
// Of fewer, or in moments that are not quiet, it goes back this often.
constexpr std::chrono::seconds kTrimEvery{5};
// Accepted in a row before the connections have a turn.
constexpr int kAcceptBatch = 8;
// How many connections are looked at for one that may go when there are too many.
constexpr std::size_t kEvictionSample = 16;
// Accepted at most before a listener closes: more than a listen queue holds.
constexpr int kAcceptLast = 65'536;

/// Completion of a coroutine that only ends when the loop does: what it throws leaves `run`.
void rethrow(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// A connection's place in the counts, from accept to close.
class Place {
 public:
  Place(Shared& shared, std::atomic<std::size_t>& open) : shared_(&shared), open_(&open) {
    open_->fetch_add(1, std::memory_order_relaxed);
  }
  Place(Place&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)), open_(other.open_) {}
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (shared_ == nullptr) return;
    open_->fetch_sub(1, std::memory_order_relaxed);
    shared_->connections.fetch_sub(1);
  }

 private:
  Shared* shared_;
  std::atomic<std::size_t>* open_;
};

struct Accepted {
  UniqueFd fd;
  Place place;
  const Site* site;
};

struct Session {
  Session(asio::io_context& io, Accepted accepted, std::vector<Session*>& sessions)
      : place(std::move(accepted.place)), site(*accepted.site), socket(io), list(sessions) {
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

  Place place;
  const Site& site;
  Tcp::socket socket;
  std::unique_ptr<Connection> connection;  // uses the socket, so goes first
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

bool isTransient(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
         error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

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
  // One thread runs it; other threads only post, so the scheduler's lock is never fought for.
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  asio::steady_timer tick;
  std::deque<Listener> listeners;
  using Queue = std::deque<std::function<void()>>;
  Queue handshakes;         ///< wait for their turn
  Queue bulk;               ///< likewise
  bool givesTurns = false;  ///< giveTurns will run
  std::minstd_rand random;  // whom to look at, not a secret
  std::size_t freed = 0;    ///< connections that gave up their memory since the last trim
  Instant logged{};         ///< the last line about a failed connection
  bool finished = false;
};

/// Who floods us with connections must not keep the API server out: the oldest of some that have asked
/// nothing yet makes room, or else one that lets us wait, or one that has been idle.
/// False when none of those looked at may go.
bool Loop::Impl::evictOne() {
  Session* oldest = nullptr;
  Session* lagging = nullptr;
  Session* dormant = nullptr;
  const Instant now = coarseNow();
  for (std::size_t i = 0; i < kEvictionSample && !sessions.empty(); ++i) {
    Session* session = sessions[random() % sessions.size()];
    if (session->evicted || session->connection == nullptr) continue;
    const Connection& connection = *session->connection;
    if (dormant == nullptr && connection.dormant()) dormant = session;
    if (lagging == nullptr && connection.lags(now)) lagging = session;
    if (!connection.unused()) continue;
    if (oldest == nullptr || session->since < oldest->since) oldest = session;
  }
  if (oldest == nullptr) oldest = lagging;
  if (oldest == nullptr) oldest = dormant;
  if (oldest == nullptr) return false;
  oldest->evicted = true;
  oldest->connection->abort();
  Error ignored;
  oldest->socket.cancel(ignored);
  counters.evicted.add();
  return true;
}

/// 0, or the error that stopped accepting: EAGAIN when the queue is empty.
int Loop::Impl::acceptSome(Listener& listener, int most) {
  for (int i = 0; i < most; ++i) {
    UniqueFd fd{::accept4(listener.acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!fd) {
      if (isTransient(errno)) continue;
      return errno;
    }
    if (shared.connections.fetch_add(1) >= shared.limits.connections && !evictOne()) {
      shared.connections.fetch_sub(1);
      counters.refused.add();
      continue;
    }
    counters.accepted.add();
    auto& target = *listener.choose().impl_;
    Accepted accepted{std::move(fd), Place{shared, target.open}, listener.site};
    if (&target == this) {
      start(std::move(accepted));
    } else {
      asio::post(target.io,
                 [&target, passed = std::move(accepted)]() mutable { target.start(std::move(passed)); });
    }
  }
  return 0;
}

asio::awaitable<void> Loop::Impl::accept(Listener& listener) {
  Error error;
  while (!shared.stopping) {
    co_await listener.acceptor.async_wait(Tcp::acceptor::wait_read,
                                          asio::redirect_error(asio::use_awaitable, error));
    const int stopped = acceptSome(listener, kAcceptBatch);
    if (stopped != 0 && stopped != EAGAIN) {
      counters.refused.add();
      const bool full = stopped == EMFILE || stopped == ENFILE;
      for (int i = 0; full && i < kAcceptBatch; ++i) evictOne();
      asio::steady_timer pause{io, kAcceptPause};
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
  // Clients in the queue think that they are connected: closing the listener would reset them.
  acceptSome(listener, kAcceptLast);
  listener.acceptor.close(error);
  shared.listeners.fetch_sub(1);
}

void Loop::Impl::start(Accepted accepted) {
  try {
    auto session = std::make_unique<Session>(io, std::move(accepted), sessions);
    const int socket = session->socket.native_handle();
    runtime::SslPtr ssl;
    // Asked for each connection: a renewed certificate serves the next one.
    if (const auto context = session->site.tls()) ssl = runtime::newServerSession(context.get(), socket);
    if (!ssl) return counters.refused.add();
    session->connection =
        std::make_unique<Connection>(session->site, shared, counters, socket, std::move(ssl));
    asio::co_spawn(io, serve(std::move(session)), [this](const std::exception_ptr& failure) {
      try {
        rethrow(failure);
      } catch (...) {
        failed();
      }
    });
  } catch (const std::exception&) {  // out of memory or of epoll watches: this connection only
    counters.refused.add();
  }
}

/// An exception of ours has ended a connection; the others are served on. Its text may quote the request, its
/// type does not.
void Loop::Impl::failed() {
  counters.failed.add();
  const Instant now = coarseNow();
  if (logged != Instant{} && now - logged < kLogEvery) return;
  logged = now;
  kLog.error("a connection failed by an exception", {{"type", currentExceptionType()}});
}

asio::awaitable<void> Loop::Impl::serve(std::unique_ptr<Session> session) {
  auto& socket = session->socket;
  auto& connection = *session->connection;
  Error ignored;  // a wait that was cancelled: `advance` knows why
  for (;;) {
    if (const Work work = connection.next(); work != Work::usual) co_await turn(work);
    switch (connection.advance()) {
      case Step::read:
        co_await socket.async_wait(Tcp::socket::wait_read,
                                   asio::redirect_error(asio::use_awaitable, ignored));
        break;
      case Step::write:
        co_await socket.async_wait(Tcp::socket::wait_write,
                                   asio::redirect_error(asio::use_awaitable, ignored));
        break;
      case Step::taken: {
        asio::steady_timer pause{io, kTakenPause};
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        break;
      }
      case Step::work:
        co_await runOnWorker(connection);
        break;
      case Step::yield:
        if (connection.next() == Work::usual) co_await asio::post(io, asio::use_awaitable);
        break;
      case Step::done:
        ++freed;
        co_return;
    }
  }
}

/// All handshakes get one turn in each round of the loop, and so do all large bodies and replies: a review
/// waits for one of them, not for all, and neither starves the other.
asio::awaitable<void> Loop::Impl::turn(Work work) {
  const auto initiate = [this, work](auto handler) {
    // std::function wants a copyable task, the handler can only be moved.
    (work == Work::handshake ? handshakes : bulk)
        .emplace_back(
            [resume = std::make_shared<decltype(handler)>(std::move(handler))] { std::move (*resume)(); });
    if (!std::exchange(givesTurns, true)) asio::post(io, [this] { giveTurns(); });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
}

void Loop::Impl::giveTurns() {
  for (Queue* queue : {&handshakes, &bulk}) {
    if (queue->empty()) continue;
    const auto resume = std::move(queue->front());
    queue->pop_front();
    resume();
  }
  givesTurns = !handshakes.empty() || !bulk.empty();
  if (givesTurns) asio::post(io, [this] { giveTurns(); });  // behind all that is ready now
}

/// Resumes on this loop's thread when the handler has run.
asio::awaitable<void> Loop::Impl::runOnWorker(Connection& connection) {
  const auto initiate = [this, &connection](auto handler) {
    // std::function wants a copyable task, the handler can only be moved.
    auto resume = std::make_shared<decltype(handler)>(std::move(handler));
    shared.workers.post([this, &connection, resume] {
      connection.work();
      asio::post(io, [resume] { std::move (*resume)(); });
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
}

asio::awaitable<void> Loop::Impl::sweep() {
  Error ignored;
  std::uint64_t acceptedBefore = 0;
  Instant trimmed = coarseNow();
  while (!finished) {
    tick.expires_after(shared.limits.sweep);
    co_await tick.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    const auto now = coarseNow();
    for (auto* session : sessions) {
      switch (session->connection->sweep(now)) {
        case Swept::nothing:
          break;
        case Swept::released:
          ++freed;
          break;
        case Swept::changed:
          session->socket.cancel(ignored);
      }
    }
    const auto accepted = counters.accepted.get();
    const bool quiet = accepted == std::exchange(acceptedBefore, accepted);
    if ((freed >= kTrimAfter && quiet) || (freed > 0 && now - trimmed >= kTrimEvery)) {
      freed = 0;
      trimmed = now;
      shared.trimHeap();
    }
  }
}

Loop::Loop(Shared& shared) : impl_(std::make_unique<Impl>(shared)) {}
Loop::~Loop() = default;

void Loop::listen(UniqueFd fd, const Site& site, std::function<Loop&()> choose) {
  auto& listener = impl_->listeners.emplace_back(impl_->io, fd.get(), site, std::move(choose));
  static_cast<void>(fd.release());
  impl_->shared.listeners.fetch_add(1);
  asio::co_spawn(impl_->io, impl_->accept(listener), rethrow);
}

void Loop::run() {
  // A server that accepts no more, or knows no deadlines, only looks alive: it is started anew.
  try {
    asio::co_spawn(impl_->io, impl_->sweep(), rethrow);
    impl_->io.run();
  } catch (const std::exception& failure) {
    kLog.fatal("the loop of a server failed", {{"type", currentExceptionType()}, {"reason", failure.what()}});
  } catch (...) {
    kLog.fatal("the loop of a server failed", {{"type", currentExceptionType()}});
  }
}

void Loop::beginStop() {
  asio::post(impl_->io, [impl = impl_.get()] {
    Error ignored;
    for (auto& listener : impl->listeners) listener.acceptor.cancel(ignored);
    for (auto* session : impl->sessions) session->socket.cancel(ignored);
  });
}

void Loop::abort() {
  asio::post(impl_->io, [impl = impl_.get()] {
    Error ignored;
    for (auto* session : impl->sessions) {
      session->connection->abort();
      session->socket.cancel(ignored);
    }
  });
}

void Loop::finish() {
  asio::post(impl_->io, [impl = impl_.get()] {
    impl->finished = true;
    impl->tick.cancel();
    impl->guard.reset();
  });
}

std::size_t Loop::open() const {
  return impl_->open.load(std::memory_order_relaxed);
}
const Counters& Loop::counters() const {
  return impl_->counters;
}

}  // namespace dynamo::webhook::detail
