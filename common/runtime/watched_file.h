#pragma once
// A file that is polled for changes, such as a file of a ConfigMap or Secret volume.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace dynamo::runtime {

struct FileReading {
  std::optional<std::string> text;  ///< nullopt: the file does not exist
  std::string error;                ///< why the file could not be read completely
};

/// Has no threads or timers. It compares the content instead of the modification time, because a volume
/// replaces a symlink.
class WatchedFile {
 public:
  /// If the path is empty, the file never exists. At most `maxBytes` + 1 bytes are read, so that the caller
  /// can detect a file above its limit.
  WatchedFile(std::string path, std::size_t maxBytes) : path_(std::move(path)), maxBytes_(maxBytes) {}

  /// Returns nullopt if nothing has changed since the last call.
  std::optional<FileReading> poll();

 private:
  std::string path_;
  std::size_t maxBytes_;
  std::optional<FileReading> seen_;
};

}  // namespace dynamo::runtime
