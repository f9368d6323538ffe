#pragma once
// A few threads for what would stall an I/O thread.

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

  /// The error if the system lets us have fewer threads.
  std::error_code start(unsigned threads);
  /// In order. `task` must not throw. The queue is bounded by the caller: a connection has one task in it at
  /// most.
  void post(std::function<void()> task);
  /// Tasks that wait for a thread.
  std::size_t queued() const;
  /// Finishes the tasks that were posted and ends the threads. Not from two threads at once.
  void stop();

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// Adds a thread on which no signal is delivered: signals belong to the thread that waits for them. The error
/// if the system has none left, by its limit of processes for instance.
std::error_code startThread(std::vector<std::thread>& threads, std::function<void()> body);

}  // namespace dynamo::runtime
