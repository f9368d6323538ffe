#pragma once
// Waits for the signals that stop a program.

#include <chrono>
#include <functional>
#include <optional>

#include "common/runtime/directory_watch.h"
#include "common/runtime/fd.h"

namespace dynamo::runtime {

/// Receives SIGTERM, SIGINT and SIGHUP through a descriptor, and ignores SIGPIPE. Must be created before any
/// thread, so that every thread inherits the signal mask.
class Signals {
 public:
  Signals();

  int descriptor() const { return descriptor_.get(); }
  /// Removes a pending signal and returns its number; 0 if there is none.
  int take() const;

 private:
  UniqueFd descriptor_;
};

/// Files to check while waiting.
struct FileWatch {
  DirectoryWatch* directory = nullptr;  ///< reports changes; nullptr: files are only checked every `interval`
  std::function<void()> look;
  std::chrono::milliseconds interval = kPollInterval;
  std::chrono::milliseconds settle = kSettleTime;
};

/// Waits for a stop signal for at most `limit`, and checks the files in the meantime. SIGHUP triggers a check
/// of the files and does not stop the program, because a closed terminal also sends it. Returns the signal
/// number, or 0 if none arrived.
int waitForStop(const Signals& signals, const FileWatch& files,
                std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace dynamo::runtime
