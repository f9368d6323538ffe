#pragma once
// Runs many tasks on one thread. Each task can wait for sockets, for a deadline, or for work on another
// thread. The header does not include Asio, so that files with tasks compile quickly.

#include <chrono>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>

#include "common/runtime/fd.h"
#include "common/runtime/task.h"

namespace dynamo::runtime {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

/// How a wait ended.
enum class WaitResult {
  Ready,
  TimedOut,
  Cancelled,  ///< cancelled by Descriptor::cancel, or because the loop stops
};

namespace detail {
struct LoopState;
struct Waiting;
}  // namespace detail

/// The awaitable of all waits. Must only be used on the loop's thread.
class [[nodiscard]] Wait {
 public:
  Wait(Wait&&) noexcept;
  Wait& operator=(Wait&&) = delete;
  ~Wait();

  bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<> task);
  WaitResult await_resume() const noexcept;

 private:
  friend class EventLoop;
  friend class Descriptor;
  friend class Notification;
  explicit Wait(std::shared_ptr<detail::Waiting> waiting);
  std::shared_ptr<detail::Waiting> waiting_;
};

class EventLoop {
 public:
  /// Throws std::system_error if no file descriptors are left.
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Adds a task, which starts in the next iteration of the loop. Must be called before `run` or on its
  /// thread.
  void spawn(Task<void> task);
  /// Runs until all tasks have ended. Rethrows an exception of a task; the other tasks are kept in this case.
  void run();
  /// Cancels the current and all later waits, so that the tasks end. May be called from any thread.
  void stop();
  /// Must be called on the loop's thread.
  bool stopping() const;
  /// Runs `call` on the loop's thread during `run`. May be called from any thread.
  void post(std::function<void()> call);

  Wait sleepUntil(Deadline deadline);
  /// Runs `work` on another thread, one task after the other. The work continues if its wait ends early, so
  /// it must own all objects that it uses. It must not throw.
  Wait offload(std::function<void()> work, Deadline deadline = kNoDeadline);

 private:
  friend class Descriptor;
  friend class Notification;
  std::unique_ptr<detail::LoopState> state_;
};

/// Runs one task on `loop` and returns its result.
template <class T>
T runTask(EventLoop& loop, Task<T> task) {
  std::optional<T> result;
  const auto keep = [](Task<T> inner, std::optional<T>& out) -> Task<void> {
    out.emplace(co_await std::move(inner));
  };
  loop.spawn(keep(std::move(task), result));
  loop.run();
  return std::move(*result);
}

/// An owned descriptor that a loop watches. Only one wait may be in progress. Must be destroyed before the
/// loop.
class Descriptor {
 public:
  Descriptor(EventLoop& loop, UniqueFd fd);
  Descriptor(Descriptor&&) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int get() const;
  Wait readable(Deadline deadline = kNoDeadline);
  Wait writable(Deadline deadline = kNoDeadline);
  /// Ends the current wait. Must be called on the loop's thread.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynamo::runtime
