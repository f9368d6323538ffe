#include "common/runtime/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "common/runtime/notification.h"
#include "common/runtime/workers.h"

namespace dynamo::runtime {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Stream = asio::posix::stream_descriptor;

namespace {

/// The coroutine around a spawned task. It is not awaited and destroys its own frame when it ends.
struct Root {
  struct promise_type {
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept {
      struct End {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
          self.promise().roots->erase(self.address());
          self.destroy();
        }
        void await_resume() const noexcept {}
      };
      return End{};
    }
    [[noreturn]] void unhandled_exception() const { throw; }
    void return_void() const noexcept {}

    std::set<void*>* roots = nullptr;
  };

  std::coroutine_handle<promise_type> handle;
};

Root rootOf(Task<void> task) {
  co_await std::move(task);
}

}  // namespace

namespace detail {

struct LoopState {
  // Only one thread runs the context. Other threads post to it.
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  std::set<void*> roots;                 ///< frames of the tasks that have not ended
  std::unordered_set<Waiting*> waiting;  ///< the current waits
  bool stopping = false;
  bool workerStarted = false;  ///< the thread of `workers` has started
  Workers workers;
};

/// The state of a wait. It is shared with Asio's handlers, which may run after the wait has ended.
struct Waiting : std::enable_shared_from_this<Waiting> {
  Waiting(LoopState& loop_, Deadline deadline_) : loop(loop_), deadline(deadline_), timer(loop_.io) {}

  /// Ends the wait. Later calls have no effect. The task is resumed in a separate iteration of the loop,
  /// because the caller may be another task.
  void end(WaitResult how) {
    if (std::exchange(over, true)) return;
    loop.waiting.erase(this);
    outcome = how;
    timer.cancel();
    Error ignored;
    if (stream != nullptr && how != WaitResult::Ready) stream->cancel(ignored);
    asio::post(loop.io, [self = shared_from_this()] {
      if (self->task) std::exchange(self->task, nullptr).resume();
    });
  }

  void begin() {
    loop.waiting.insert(this);
    if (deadline != kNoDeadline) {
      timer.expires_at(deadline);
      timer.async_wait([self = shared_from_this()](const Error& error) {
        if (!error) self->end(self->timeIsUp);
      });
    }
    if (stream != nullptr) {
      stream->async_wait(kind, [self = shared_from_this()](const Error&) { self->end(WaitResult::Ready); });
    }
    if (work && !loop.workerStarted) {  // no thread could be started: block the loop
      std::exchange(work, nullptr)();
      end(WaitResult::Ready);
    } else if (work) {
      loop.workers.post([self = shared_from_this(), run = std::exchange(work, nullptr)]() mutable {
        run();
        run = nullptr;
        LoopState& on = self->loop;  // the last reference is released on the loop's thread
        asio::post(on.io, [waiting = std::move(self)] { waiting->end(WaitResult::Ready); });
      });
    }
  }

  LoopState& loop;
  Deadline deadline;
  asio::steady_timer timer;
  WaitResult timeIsUp = WaitResult::TimedOut;
  Stream* stream = nullptr;  ///< only valid while the wait is not over
  Stream::wait_type kind = Stream::wait_read;
  std::function<void()> work;
  std::coroutine_handle<> task;
  WaitResult outcome = WaitResult::Cancelled;
  bool over = false;
};

}  // namespace detail

using detail::LoopState;
using detail::Waiting;

Wait::Wait(std::shared_ptr<Waiting> waiting) : waiting_(std::move(waiting)) {}
Wait::Wait(Wait&&) noexcept = default;

/// Ensures that a task that is destroyed during a wait is not resumed.
Wait::~Wait() {
  if (!waiting_ || !waiting_->task) return;
  waiting_->task = nullptr;
  waiting_->end(WaitResult::Cancelled);
}

bool Wait::await_ready() const noexcept {
  // A wait that ended before it was awaited must not begin, because nothing would end it again.
  return waiting_->over || waiting_->loop.stopping;
}

void Wait::await_suspend(std::coroutine_handle<> task) {
  waiting_->task = task;
  waiting_->begin();
}

WaitResult Wait::await_resume() const noexcept {
  return waiting_->outcome;
}

EventLoop::EventLoop() : state_(std::make_unique<LoopState>()) {}

EventLoop::~EventLoop() {
  state_->workers.stop();
  for (void* const root : std::exchange(state_->roots, {}))
    std::coroutine_handle<>::from_address(root).destroy();
}

void EventLoop::spawn(Task<void> task) {
  const Root root = rootOf(std::move(task));
  root.handle.promise().roots = &state_->roots;
  state_->roots.insert(root.handle.address());
  asio::post(state_->io, [handle = root.handle] { handle.resume(); });
}

void EventLoop::run() {
  while (!state_->roots.empty()) state_->io.run_one();
}

void EventLoop::stop() {
  post([state = state_.get()] {
    state->stopping = true;
    while (!state->waiting.empty()) (*state->waiting.begin())->end(WaitResult::Cancelled);
  });
}

bool EventLoop::stopping() const {
  return state_->stopping;
}

void EventLoop::post(std::function<void()> call) {
  asio::post(state_->io, std::move(call));
}

Wait EventLoop::sleepUntil(Deadline deadline) {
  auto waiting = std::make_shared<Waiting>(*state_, deadline);
  waiting->timeIsUp = WaitResult::Ready;
  return Wait{std::move(waiting)};
}

Wait EventLoop::offload(std::function<void()> work, Deadline deadline) {
  auto waiting = std::make_shared<Waiting>(*state_, deadline);
  if (!state_->workerStarted) state_->workerStarted = !state_->workers.start(1);
  waiting->work = std::move(work);
  return Wait{std::move(waiting)};
}

struct Descriptor::State {
  State(EventLoop& owner, UniqueFd fd) : loop(*owner.state_), stream(loop.io) {
    stream.assign(fd.get());
    static_cast<void>(fd.release());
  }

  Wait wait(Stream::wait_type kind, Deadline deadline) {
    auto waiting = std::make_shared<Waiting>(loop, deadline);
    waiting->stream = &stream;
    waiting->kind = kind;
    current = waiting;
    return Wait{std::move(waiting)};
  }

  LoopState& loop;
  Stream stream;
  std::weak_ptr<Waiting> current;
};

Descriptor::Descriptor(EventLoop& loop, UniqueFd fd) : state_(std::make_unique<State>(loop, std::move(fd))) {}
Descriptor::Descriptor(Descriptor&&) noexcept = default;
Descriptor::~Descriptor() {
  if (state_) cancel();
}

int Descriptor::get() const {
  return state_->stream.native_handle();
}
Wait Descriptor::readable(Deadline deadline) {
  return state_->wait(Stream::wait_read, deadline);
}
Wait Descriptor::writable(Deadline deadline) {
  return state_->wait(Stream::wait_write, deadline);
}
void Descriptor::cancel() {
  if (const auto waiting = state_->current.lock()) waiting->end(WaitResult::Cancelled);
}

Notification::~Notification() {
  endAll(WaitResult::Cancelled);
}

Wait Notification::wait(Deadline deadline) {
  std::erase_if(waiting_, [](const std::weak_ptr<Waiting>& each) {
    const auto waiting = each.lock();
    return !waiting || waiting->over;
  });
  auto waiting = std::make_shared<Waiting>(*loop_->state_, deadline);
  waiting_.push_back(waiting);
  return Wait{std::move(waiting)};
}

void Notification::notify() {
  endAll(WaitResult::Ready);
}

void Notification::endAll(WaitResult how) {
  for (const auto& each : std::exchange(waiting_, {})) {
    if (const auto waiting = each.lock()) waiting->end(how);
  }
}

}  // namespace dynamo::runtime
