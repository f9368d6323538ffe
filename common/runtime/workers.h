#pragma once
// A small thread pool for work that would block an I/O thread.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dynamo::runtime {

class Workers {
 public:
  Workers() = default;
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Starts the threads. Returns an error if the system does not allow that many.
  std::error_code start(unsigned threads);
  /// Adds a task to the queue, which is processed in order. `task` must not throw. The caller limits the
  /// queue: each connection has at most one task in it.
  void post(std::function<void()> task);
  /// Returns the number of tasks that wait for a thread.
  std::size_t queued() const;
  /// Finishes the posted tasks and ends the threads. Must not be called by two threads at the same time.
  void stop();

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Starts a thread with all signals blocked, because only the main thread handles signals. Returns an error
/// if the system cannot start one, for example because of a process limit.
std::error_code startThread(std::vector<std::thread>& threads, std::function<void()> body);

}  // namespace dynamo::runtime
