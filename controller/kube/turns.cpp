#include "controller/kube/turns.h"

#include "common/runtime/notification.h"
#include "controller/kube/fair_queue.h"

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
  State(EventLoop& loop_, std::size_t max) : loop(loop_), queue(max) {}

  void giveBack(const std::string& tenant) {
    queue.release(tenant);
    giveTurns();
  }

  void giveTurns() {
    while (const std::optional<Waiter*> next = queue.take()) {
      (*next)->hasTurn = true;
      (*next)->called.notify();
    }
  }

  EventLoop& loop;
  FairQueue<Waiter*> queue;
};

namespace {

/// A place in the queue. Its destructor also handles a task that is destroyed while it waits.
template <class State>
class Place {
 public:
  Place(State& state, const std::string& tenant) : waiter(state.loop), state_(state), tenant_(tenant) {
    state_.queue.push(tenant, &waiter);
    state_.giveTurns();
  }
  ~Place() {
    if (waiter.hasTurn) state_.giveBack(tenant_);
    state_.queue.erase(tenant_, &waiter);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  Waiter waiter;

 private:
  State& state_;
  const std::string& tenant_;
};

}  // namespace

Turns::Turns(EventLoop& loop, std::size_t max) : state_(std::make_shared<State>(loop, max)) {}

Turns::Turn::~Turn() {
  if (state_) state_->giveBack(tenant_);
}

Task<std::variant<Turns::Turn, WaitResult>> Turns::take(std::string tenant, Deadline deadline) {
  return wait(state_, std::move(tenant), deadline);
}

Task<std::variant<Turns::Turn, WaitResult>> Turns::wait(std::shared_ptr<State> state, std::string tenant,
                                                        Deadline deadline) {
  Place<State> place{*state, tenant};
  WaitResult how = WaitResult::Ready;
  if (!place.waiter.hasTurn) how = co_await place.waiter.called.wait(deadline);
  if (!place.waiter.hasTurn) co_return how;
  place.waiter.hasTurn = false;  // the Turn now returns the slot
  co_return Turn{state, tenant};
}

}  // namespace dynamo::kube
