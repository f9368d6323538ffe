#include "webhook/http/loop.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdint>

#include "common/observability/log.h"
#include "common/runtime/exception_type.h"
#include "webhook/http/loop_impl.h"

namespace dynamo::webhook::detail {
namespace {

using runtime::currentExceptionType;
using runtime::UniqueFd;

constexpr log::Logger kLog{"http"};

// Interval in which to check whether a client that sends nothing has received its reply.
constexpr std::chrono::milliseconds kReceiptPollInterval{50};
// Closed or idle connections after which their memory, about 3 MiB, is returned to the system when the loop
// is quiet.
constexpr std::size_t kTrimAfter = 64;
// Interval for returning memory of fewer connections, or when the loop is not quiet.
constexpr std::chrono::seconds kTrimEvery{5};
// Pause when descriptors or memory are exhausted. Accepting again at once would only waste processor time.
constexpr std::chrono::milliseconds kAcceptPause{50};
// At most one failed connection is logged in this interval.
constexpr std::chrono::seconds kLogEvery{1};
// Connections to accept before the existing ones get a turn.
constexpr int kAcceptBatch = 8;
// Number of random connections to check for one to close when there are too many.
constexpr std::size_t kEvictionSample = 16;
// Connections to accept before a listener closes: more than a listen queue can hold.
constexpr int kAcceptLast = 65'536;

bool isTransient(int error) {
  return error == ECONNABORTED || error == EINTR || error == EPROTO || error == ENETDOWN ||
         error == EHOSTUNREACH || error == ENETUNREACH;
}

}  // namespace

/// Ends a connection to make room for another, so that a flood of connections does not block the API server.
/// Checks a random sample: ends the oldest unused connection, or else a slow one, or else an idle one.
/// Returns false if there is none in the sample.
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

/// Returns 0 or an errno; EAGAIN if the queue is empty.
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
    Accepted accepted{std::move(fd), OpenCount{shared, target.open}, listener.site};
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
  // Clients in the queue are already connected. Closing the listener would reset them, so they are accepted
  // first.
  acceptSome(listener, kAcceptLast);
  listener.acceptor.close(error);
  shared.listeners.fetch_sub(1);
}

void Loop::Impl::start(Accepted accepted) {
  try {
    auto session = std::make_unique<Session>(io, std::move(accepted), sessions);
    const int socket = session->socket.native_handle();
    runtime::SslPtr ssl;
    // Called for each connection, so that new connections get a renewed certificate.
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
  } catch (const std::exception&) {  // out of memory or epoll watches: only this connection fails
    counters.refused.add();
  }
}

/// Logs an exception that has ended a connection. Only the type is logged, because the text may quote the
/// request.
void Loop::Impl::failed() {
  counters.failed.add();
  const Instant now = coarseNow();
  if (logged != Instant{} && now - logged < kLogEvery) return;
  logged = now;
  kLog.error("a connection failed with an exception", {{"type", runtime::currentExceptionType()}});
}

asio::awaitable<void> Loop::Impl::serve(std::unique_ptr<Session> session) {
  auto& socket = session->socket;
  auto& connection = *session->connection;
  Error ignored;  // set if a wait is cancelled; `advance` handles the reason
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
      case Step::receipt: {
        asio::steady_timer pause{io, kReceiptPollInterval};
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

/// Waits for a turn. In each round of the loop, one handshake and one large body or reply get a turn. A
/// review therefore waits for one of each and not for all, and neither queue starves the other.
asio::awaitable<void> Loop::Impl::turn(Work work) {
  const auto initiate = [this, work](auto handler) {
    // std::function requires a copyable task, but the handler is move-only.
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
  if (givesTurns) asio::post(io, [this] { giveTurns(); });  // after everything that is ready now
}

/// Runs the handler on a worker thread and resumes on this loop's thread.
asio::awaitable<void> Loop::Impl::runOnWorker(Connection& connection) {
  const auto initiate = [this, &connection](auto handler) {
    // std::function requires a copyable task, but the handler is move-only.
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
        case SweepResult::nothing:
          break;
        case SweepResult::released:
          ++freed;
          break;
        case SweepResult::changed:
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
  // A server that no longer accepts connections or checks deadlines must end, so that it is restarted.
  try {
    asio::co_spawn(impl_->io, impl_->sweep(), rethrow);
    impl_->io.run();
  } catch (const std::exception& failure) {
    kLog.fatal("the server loop failed", {{"type", currentExceptionType()}, {"reason", failure.what()}});
  } catch (...) {
    kLog.fatal("the server loop failed", {{"type", currentExceptionType()}});
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
