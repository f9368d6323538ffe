#include "webhook/http/workers.h"

#include <sys/resource.h>

#include <csignal>

#include <utility>

#include "webhook/http/limits.h"

namespace dynamo::webhook::detail {
namespace {

constexpr int kNice = 5;
constexpr std::chrono::seconds kOverloaded{1};

}  // namespace

std::thread startThread(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A new thread inherits the mask, so it is set before the thread exists.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread{std::move(body)};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

Workers::Workers(unsigned threads) {
  threads_.reserve(threads);
  for (unsigned i = 0; i < threads; ++i) threads_.push_back(startThread([this] { run(); }));
}

void Workers::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::post(std::function<void()> task) {
  {
    const std::lock_guard lock{mutex_};
    tasks_.push_back({std::move(task), std::chrono::steady_clock::now()});
  }
  wake_.notify_one();
}

std::size_t Workers::queued() const {
  const std::lock_guard lock{mutex_};
  return tasks_.size();
}

/// With the mutex held.
Workers::Task Workers::next() {
  const auto waited = std::chrono::steady_clock::now() - tasks_.front().since;
  // The oldest of all are answered quickly: that it is too late.
  const bool newest = waited > kOverloaded && waited < kQueueDeadline;
  Task task = std::move(newest ? tasks_.back() : tasks_.front());
  newest ? tasks_.pop_back() : tasks_.pop_front();
  return task;
}

void Workers::run() {
  // What takes long waits for what is quick: of Linux, this sets the thread's own priority.
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNice));
  for (;;) {
    Task task;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = next();
    }
    task.run();
  }
}

}  // namespace dynamo::webhook::detail
