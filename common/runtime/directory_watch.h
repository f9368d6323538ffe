#pragma once
// Directories in which files change: volumes of Secrets and ConfigMaps.

#include <chrono>
#include <filesystem>

#include "common/runtime/fd.h"

namespace dynamo::runtime {

/// Longest time a change stays unseen when no wake-up arrives.
inline constexpr std::chrono::seconds kPollInterval{10};
/// Wait this long after a wake-up before reading: in a plain directory tls.crt and tls.key are two renames,
/// and a look between them would report a mismatch that heals itself.
inline constexpr std::chrono::milliseconds kSettleTime{200};

/// An inotify descriptor on a directory and on what its `..data` link points to. It only says "look again":
/// the kubelet renames a link, so no event need ever name the files themselves, and overlay and network file
/// systems may deliver nothing at all. Whoever uses it polls as well.
class DirectoryWatch {
 public:
  explicit DirectoryWatch(std::filesystem::path directory);

  /// Readable when something changed; non-blocking; -1 when the system gave none. Owned by this object.
  int descriptor() const { return descriptor_.get(); }

  /// Swallows pending events and watches the directory (which may have come into being since) and the
  /// present `..data`. Call before reading the files, so that a change during the read wakes again.
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
