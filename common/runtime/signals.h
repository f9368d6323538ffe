#pragma once
// Signals that end a program, and the wait for them.

#include <chrono>
#include <functional>
#include <optional>

#include "common/runtime/directory_watch.h"
#include "common/runtime/fd.h"

namespace dynamo::runtime {

/// SIGTERM, SIGINT and SIGHUP as a descriptor; SIGPIPE is ignored. Made before any thread, so that every
/// thread inherits the mask.
class Signals {
 public:
  Signals();

  int descriptor() const { return descriptor_.get(); }
  /// The number of a pending signal, 0 if none.
  int take() const;

 private:
  UniqueFd descriptor_;
};

/// Files that are looked at meanwhile.
struct FileWatch {
  DirectoryWatch* directory = nullptr;  ///< says when to look; without one `interval` alone does
  std::function<void()> look;
  std::chrono::milliseconds interval = kPollInterval;
  std::chrono::milliseconds settle = kSettleTime;
};

/// Waits at most `limit` for a signal to stop, looking at the files meanwhile: SIGHUP, which a closed
/// terminal sends too, only has them looked at now. The signal's number, or 0.
int waitForStop(const Signals& signals, const FileWatch& files,
                std::optional<std::chrono::milliseconds> limit = std::nullopt);

}  // namespace dynamo::runtime
