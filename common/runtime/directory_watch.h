#pragma once
// Watches directories with changing files: volumes of Secrets and ConfigMaps.

#include <chrono>
#include <filesystem>

#include "common/runtime/fd.h"

namespace dynamo::runtime {

/// The maximum time until a change is detected without an inotify event.
inline constexpr std::chrono::seconds kPollInterval{10};
/// The delay between an event and the read. In a plain directory, two renames replace tls.crt and tls.key,
/// and a read between them would report a temporary mismatch.
inline constexpr std::chrono::milliseconds kSettleTime{200};

/// An inotify descriptor on a directory and on the target of its `..data` link. An event only means that
/// files may have changed: the kubelet renames the link, so events need not name the files. Overlay and
/// network file systems may deliver no events, so the caller must also poll.
class DirectoryWatch {
 public:
  explicit DirectoryWatch(std::filesystem::path directory);

  /// Returns a non-blocking descriptor that is readable after a change, or -1 if inotify failed. The
  /// DirectoryWatch owns the descriptor.
  int descriptor() const { return descriptor_.get(); }

  /// Discards pending events and watches the directory, which may be new, and the current target of `..data`.
  /// Must be called before reading the files, so that a change during the read causes another event.
  void refresh();

 private:
  void drain();
  void watchPath(const std::filesystem::path& path, int& current);

  std::filesystem::path directory_;
  UniqueFd descriptor_;
  int directoryWatch_ = -1;
  int dataWatch_ = -1;
};

}  // namespace dynamo::runtime
