#pragma once
// Limits the number of concurrent tasks. Further tasks wait in first-in, first-out order.

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "common/runtime/event_loop.h"

namespace dynamo::kube {

/// A counting semaphore. Not thread-safe. It must be destroyed before the event loop; a Turn may outlive it.
class Turns {
  struct State;

 public:
  Turns(runtime::EventLoop& loop, std::size_t max);

  /// A slot. Its destructor passes the slot to the next waiting task.
  class Turn {
   public:
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    friend class Turns;
    explicit Turn(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  /// Waits for a turn. Returns the reason if the wait ends without one.
  runtime::Task<std::variant<Turn, runtime::WaitResult>> take(runtime::Deadline deadline);

 private:
  static runtime::Task<std::variant<Turn, runtime::WaitResult>> wait(std::shared_ptr<State> state,
                                                                     runtime::Deadline deadline);
  std::shared_ptr<State> state_;
};

}  // namespace dynamo::kube
