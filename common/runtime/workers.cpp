#include "common/runtime/workers.h"

#include <sys/resource.h>

#include <csignal>

#include <utility>

namespace dynamo::runtime {
namespace {

constexpr int kNice = 5;

}  // namespace

std::error_code startThread(std::vector<std::thread>& threads, std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A new thread inherits the mask, so it is set before the thread exists.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::error_code error;
  try {
    threads.emplace_back(std::move(body));
  } catch (const std::system_error& failure) {
    error = failure.code();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

std::error_code Workers::start(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    if (const auto error = startThread(threads_, [this] { run(); })) return error;
  }
  return {};
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
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

std::size_t Workers::queued() const {
  const std::lock_guard lock{mutex_};
  return tasks_.size();
}

void Workers::run() {
  // Long tasks get a lower priority than the I/O threads. On Linux this only affects the calling thread.
  static_cast<void>(setpriority(PRIO_PROCESS, 0, kNice));
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace dynamo::runtime
