#include "common/runtime/watched_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "common/runtime/fd.h"
#include "common/runtime/reason.h"

namespace dynamo::runtime {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;

FileReading readFile(const std::string& path, std::size_t maxBytes) {
  FileReading reading;
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file && errno == ENOENT) return reading;
  std::string& text = reading.text.emplace();
  while (file && text.size() <= maxBytes) {
    const std::size_t size = text.size();
    text.resize(std::min(size + kChunk, maxBytes + 1));
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    text.resize(size + static_cast<std::size_t>(std::max(got, ssize_t{0})));
    if (got == 0) return reading;
    if (got < 0 && errno != EINTR) break;
  }
  if (text.size() <= maxBytes) reading.error = reasonOf(errno);
  return reading;
}

}  // namespace

std::optional<FileReading> WatchedFile::poll() {
  if (path_.empty()) return std::nullopt;
  FileReading reading = readFile(path_, maxBytes_);
  if (seen_ && seen_->text == reading.text && seen_->error == reading.error) return std::nullopt;
  seen_ = reading;
  return reading;
}

}  // namespace dynamo::runtime
