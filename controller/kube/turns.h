#pragma once
// Limits the number of concurrent tasks, fairly among tenants (fair_queue.h).

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "common/runtime/event_loop.h"

namespace dynamo::kube {

/// A counting semaphore. Not thread-safe. It must be destroyed before the event loop; a Turn may outlive it.
class Turns {
  struct State;

 public:
  Turns(runtime::EventLoop& loop, std::size_t max);

  /// A slot. Its destructor passes the slot to the next task that may have it.
  class Turn {
   public:
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn();

   private:
    friend class Turns;
    Turn(std::shared_ptr<State> state, std::string tenant)
        : state_(std::move(state)), tenant_(std::move(tenant)) {}
    std::shared_ptr<State> state_;
    std::string tenant_;
  };

  /// Waits for a turn. Returns the reason if the wait ends without one.
  runtime::Task<std::variant<Turn, runtime::WaitResult>> take(std::string tenant, runtime::Deadline deadline);

 private:
  static runtime::Task<std::variant<Turn, runtime::WaitResult>> wait(std::shared_ptr<State> state,
                                                                     std::string tenant,
                                                                     runtime::Deadline deadline);
  std::shared_ptr<State> state_;
};

}  // namespace dynamo::kube
