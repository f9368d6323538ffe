#pragma once
// A file whose content is read again and again, as that of a ConfigMap or Secret volume.

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace dynamo::runtime {

struct FileReading {
  std::optional<std::string> text;  ///< nullopt: there is no such file
  std::string error;                ///< why not all of it could be read
};

/// Has no threads or timers of its own. Content is compared, not file times: a volume swaps a symlink.
class WatchedFile {
 public:
  /// An empty path: there never is a file. Of a longer file `most` bytes and one more are read, so that
  /// whoever has that limit sees that it is exceeded.
  WatchedFile(std::string path, std::size_t most) : path_(std::move(path)), most_(most) {}

  /// nullopt while nothing has changed since the last call.
  std::optional<FileReading> poll();

 private:
  std::string path_;
  std::size_t most_;
  std::optional<FileReading> seen_;
};

}  // namespace dynamo::runtime
