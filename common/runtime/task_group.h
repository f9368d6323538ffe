#pragma once
// Runs tasks concurrently and waits for all of them.

#include <coroutine>
#include <cstddef>
#include <memory>
#include <utility>

#include "common/runtime/event_loop.h"

namespace dynamo::runtime {

/// Must be used on the loop's thread. The loop must outlive the group.
class TaskGroup {
 public:
  explicit TaskGroup(EventLoop& loop) : loop_(loop), state_(std::make_shared<State>()) {}

  /// Adds a task, which starts in the next iteration of the loop. It must not throw.
  void spawn(Task<void> task) {
    ++state_->running;
    loop_.spawn(run(std::move(task), state_));
  }

  /// Waits until all tasks have ended, even if the loop stops. Tasks may therefore refer to objects of the
  /// waiting task.
  auto join() {
    struct Join {
      bool await_ready() const noexcept { return state->running == 0; }
      void await_suspend(std::coroutine_handle<> task) const noexcept { state->waiting = task; }
      void await_resume() const noexcept {}
      std::shared_ptr<State> state;
    };
    return Join{state_};
  }

 private:
  struct State {
    std::size_t running = 0;
    std::coroutine_handle<> waiting;
  };

  static Task<void> run(Task<void> task, std::shared_ptr<State> state) {
    co_await std::move(task);
    if (--state->running == 0 && state->waiting) std::exchange(state->waiting, nullptr).resume();
  }

  EventLoop& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace dynamo::runtime
