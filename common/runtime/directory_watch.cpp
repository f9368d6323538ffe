#include "common/runtime/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace dynamo::runtime {

DirectoryWatch::DirectoryWatch(std::filesystem::path directory)
    : directory_{std::move(directory)}, descriptor_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)} {
  refresh();
}

void DirectoryWatch::refresh() {
  if (!descriptor_) return;
  watchPath(directory_, directoryWatch_);
  watchPath(directory_ / "..data", dataWatch_);
  // Removing a watch queues an event, which would wake the caller without a change. The queue is therefore
  // drained last.
  drain();
}

void DirectoryWatch::drain() {
  alignas(inotify_event) std::array<char, 4096> buffer;
  while (::read(descriptor_.get(), buffer.data(), buffer.size()) > 0) {
  }
}

void DirectoryWatch::watchPath(const std::filesystem::path& path, int& current) {
  constexpr std::uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  // Adding the same inode again returns the same number. A replaced link returns a new number.
  const int watch = ::inotify_add_watch(descriptor_.get(), path.c_str(), kEvents);
  if (watch == current) return;
  // The call fails if the directory was removed and the kernel has already dropped the watch. This is
  // harmless.
  if (current >= 0) ::inotify_rm_watch(descriptor_.get(), current);
  current = watch;
}

}  // namespace dynamo::runtime
