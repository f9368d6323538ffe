#include "common/runtime/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <unordered_set>
#include <utility>

#include "common/runtime/workers.h"

namespace dynamo::runtime {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using Stream = asio::posix::stream_descriptor;

namespace {

/// The coroutine around a spawned task: nobody awaits it, and its frame goes when it has ended.
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
  // One thread runs it; others only post.
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{io.get_executor()};
  std::set<void*> roots;                 ///< frames of the tasks that have not ended
  std::unordered_set<Waiting*> waiting;  ///< what they wait for
  bool stopping = false;
  bool helped = false;  ///< the thread of `workers` runs
  Workers workers;
};

/// One wait. It is shared with the handlers of Asio, which may come later than what ended it.
struct Waiting : std::enable_shared_from_this<Waiting> {
  Waiting(LoopState& loop_, Deadline deadline_) : loop(loop_), deadline(deadline_), timer(loop_.io) {}

  /// The first outcome counts. The task goes on in a turn of its own: whoever ends a wait may be another
  /// task.
  void end(Woken how) {
    if (std::exchange(over, true)) return;
    loop.waiting.erase(this);
    outcome = how;
    timer.cancel();
    Error ignored;
    if (stream != nullptr && how != Woken::Ready) stream->cancel(ignored);
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
      stream->async_wait(kind, [self = shared_from_this()](const Error&) { self->end(Woken::Ready); });
    }
    if (work && !loop.helped) {  // the system has no thread left: then the loop is held up
      std::exchange(work, nullptr)();
      end(Woken::Ready);
    } else if (work) {
      loop.workers.post([self = shared_from_this(), run = std::exchange(work, nullptr)]() mutable {
        run();
        run = nullptr;
        LoopState& on = self->loop;  // the last hold on the wait is given to the thread of the loop
        asio::post(on.io, [waiting = std::move(self)] { waiting->end(Woken::Ready); });
      });
    }
  }

  LoopState& loop;
  Deadline deadline;
  asio::steady_timer timer;
  Woken timeIsUp = Woken::TimedOut;
  Stream* stream = nullptr;  ///< used while the wait is not over
  Stream::wait_type kind = Stream::wait_read;
  std::function<void()> work;
  std::coroutine_handle<> task;
  Woken outcome = Woken::Cancelled;
  bool over = false;
};

}  // namespace detail

using detail::LoopState;
using detail::Waiting;

Wait::Wait(std::shared_ptr<Waiting> waiting) : waiting_(std::move(waiting)) {}
Wait::Wait(Wait&&) noexcept = default;

/// A task that is destroyed while it waits is not resumed.
Wait::~Wait() {
  if (!waiting_ || !waiting_->task) return;
  waiting_->task = nullptr;
  waiting_->end(Woken::Cancelled);
}

bool Wait::await_ready() const noexcept {
  return waiting_->loop.stopping;
}

void Wait::await_suspend(std::coroutine_handle<> task) {
  waiting_->task = task;
  waiting_->begin();
}

Woken Wait::await_resume() const noexcept {
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
    while (!state->waiting.empty()) (*state->waiting.begin())->end(Woken::Cancelled);
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
  waiting->timeIsUp = Woken::Ready;
  return Wait{std::move(waiting)};
}

Wait EventLoop::offload(std::function<void()> work, Deadline deadline) {
  auto waiting = std::make_shared<Waiting>(*state_, deadline);
  if (!state_->helped) state_->helped = !state_->workers.start(1);
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
  if (const auto waiting = state_->current.lock()) waiting->end(Woken::Cancelled);
}

}  // namespace dynamo::runtime
