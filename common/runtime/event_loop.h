#pragma once
// One thread that runs many tasks, each of which waits for sockets, for a time, or for work on another
// thread. The header names nothing of Asio, so that those who write tasks compile quickly.

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
enum class Woken {
  Ready,
  TimedOut,
  Cancelled,  ///< by Descriptor::cancel, or as the loop stops
};

namespace detail {
struct LoopState;
struct Waiting;
}  // namespace detail

/// What a task awaits; only on the thread of the loop.
class [[nodiscard]] Wait {
 public:
  Wait(Wait&&) noexcept;
  Wait& operator=(Wait&&) = delete;
  ~Wait();

  bool await_ready() const noexcept;
  void await_suspend(std::coroutine_handle<> task);
  Woken await_resume() const noexcept;

 private:
  friend class EventLoop;
  friend class Descriptor;
  explicit Wait(std::shared_ptr<detail::Waiting> waiting);
  std::shared_ptr<detail::Waiting> waiting_;
};

class EventLoop {
 public:
  /// Throws std::system_error when the system has no descriptors left.
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Adds a task that begins with the next turn of the loop. Before `run`, or on its thread.
  void spawn(Task<void> task);
  /// Runs until all tasks have ended. An exception of a task leaves it; the other tasks are then still there.
  void run();
  /// From any thread: waits of all tasks end as cancelled from now on, so that the tasks end.
  void stop();
  /// On the thread of the loop.
  bool stopping() const;
  /// From any thread: `call` runs on the thread of the loop, while `run` does.
  void post(std::function<void()> call);

  Wait sleepUntil(Deadline deadline);
  /// Runs `work` on a thread beside the loop, one after the other. Work that is not waited for any longer
  /// goes on, so it must own what it uses. It must not throw.
  Wait offload(std::function<void()> work, Deadline deadline = kNoDeadline);

 private:
  friend class Descriptor;
  std::unique_ptr<detail::LoopState> state_;
};

/// Runs one task on a loop of its own and gives its result.
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

/// An owned descriptor that a loop watches. One wait at a time. Must go before the loop.
class Descriptor {
 public:
  Descriptor(EventLoop& loop, UniqueFd fd);
  Descriptor(Descriptor&&) noexcept;
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  int get() const;
  Wait readable(Deadline deadline = kNoDeadline);
  Wait writable(Deadline deadline = kNoDeadline);
  /// Ends the wait under way. On the thread of the loop.
  void cancel();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dynamo::runtime
