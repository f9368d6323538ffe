#include "controller/kube/turns.h"

#include <list>

#include "common/runtime/notification.h"

namespace dynamo::kube {

using runtime::Deadline;
using runtime::EventLoop;
using runtime::Task;
using runtime::WaitResult;

namespace {

struct Waiter {
  explicit Waiter(EventLoop& loop) : called(loop) {}

  runtime::Notification called;
  bool hasTurn = false;
};

}  // namespace

struct Turns::State {
  State(EventLoop& loop_, std::size_t max) : loop(loop_), left(max) {}

  void giveBack() {
    if (line.empty()) {
      ++left;
      return;
    }
    Waiter* const next = line.front();
    line.pop_front();
    next->hasTurn = true;
    next->called.notify();
  }

  EventLoop& loop;
  std::size_t left;
  std::list<Waiter*> line;
};

namespace {

/// A place in the queue. Its destructor also handles a task that is destroyed while it waits.
template <class State>
class Place {
 public:
  Place(State& state, EventLoop& loop) : waiter(loop), state_(state) { state_.line.push_back(&waiter); }
  ~Place() {
    if (waiter.hasTurn) {
      state_.giveBack();
    } else {
      state_.line.remove(&waiter);
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Waiter waiter;

 private:
  State& state_;
};

}  // namespace

Turns::Turns(EventLoop& loop, std::size_t max) : state_(std::make_shared<State>(loop, max)) {}

Turns::Turn::~Turn() {
  if (state_) state_->giveBack();
}

Task<std::variant<Turns::Turn, WaitResult>> Turns::take(Deadline deadline) {
  return wait(state_, deadline);
}

Task<std::variant<Turns::Turn, WaitResult>> Turns::wait(std::shared_ptr<State> state, Deadline deadline) {
  if (state->left > 0) {
    --state->left;
    co_return Turn{state};
  }
  Place<State> place{*state, state->loop};
  const WaitResult how = co_await place.waiter.called.wait(deadline);
  if (!place.waiter.hasTurn) co_return how;
  place.waiter.hasTurn = false;  // the Turn now returns the slot
  co_return Turn{state};
}

}  // namespace dynamo::kube
