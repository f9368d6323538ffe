#include "common/runtime/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace dynamo::runtime {

using std::chrono::milliseconds;

Signals::Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  descriptor_ = UniqueFd{signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
}

int Signals::take() const {
  signalfd_siginfo info{};
  return ::read(descriptor_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)
             ? static_cast<int>(info.ssi_signo)
             : 0;
}

int waitForStop(const Signals& signals, const FileWatch& files, std::optional<milliseconds> limit) {
  const auto end = std::chrono::steady_clock::now() + limit.value_or(milliseconds{0});
  while (true) {
    milliseconds wait = files.interval;
    if (limit) {
      const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
      if (left <= milliseconds{0}) return 0;
      wait = std::min(wait, left);
    }
    // poll() ignores a negative descriptor.
    const int wake = files.directory == nullptr ? -1 : files.directory->descriptor();
    pollfd waiting[2] = {{signals.descriptor(), POLLIN, 0}, {wake, POLLIN, 0}};
    const int woken = ::poll(waiting, 2, static_cast<int>(wait.count()));
    if (const int number = signals.take(); number != 0 && number != SIGHUP) return number;
    if (woken > 0) std::this_thread::sleep_for(files.settle);
    if (files.directory != nullptr) files.directory->refresh();
    files.look();
  }
}

}  // namespace dynamo::runtime
