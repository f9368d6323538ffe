#pragma once
// A few threads for what would stall an I/O thread.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dynamo::webhook::detail {

class Workers {
 public:
  explicit Workers(unsigned threads);
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// In order; once the oldest has waited for a second the newest comes first, so that some are answered in
  /// time when not all can be. `task` must not throw. The queue is bounded by the caller: a connection has
  /// one task in it at most.
  void post(std::function<void()> task);
  /// Tasks that wait for a thread.
  std::size_t queued() const;
  /// Finishes the tasks that were posted and ends the threads. Not from two threads at once.
  void stop();

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  struct Task {
    std::function<void()> run;
    std::chrono::steady_clock::time_point since;
  };
  Task next();

  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Starts a thread on which no signal is delivered: signals belong to the thread that waits for them.
std::thread startThread(std::function<void()> body);

}  // namespace dynamo::webhook::detail
