#pragma once
// Wakes tasks that wait for another task of the same loop.

#include <memory>
#include <vector>

#include "common/runtime/event_loop.h"

namespace dynamo::runtime {

/// A condition variable for tasks. Any number of tasks may wait. A call of `notify` only wakes the tasks that
/// already wait, so a task must check its condition before it waits. All functions must be called on the
/// loop's thread. A notification must be destroyed before the loop; its destructor cancels the current waits.
class Notification {
 public:
  explicit Notification(EventLoop& loop) : loop_(&loop) {}
  Notification(const Notification&) = delete;
  Notification& operator=(const Notification&) = delete;
  ~Notification();

  /// Waits for the next call of `notify`.
  Wait wait(Deadline deadline = kNoDeadline);
  /// Wakes all tasks that wait now. They continue in later iterations of the loop, in the order in which they
  /// began to wait.
  void notify();

 private:
  void endAll(WaitResult how);

  EventLoop* loop_;
  std::vector<std::weak_ptr<detail::Waiting>> waiting_;
};

}  // namespace dynamo::runtime
