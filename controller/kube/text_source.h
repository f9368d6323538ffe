#pragma once
// A token, certificate or key that is given in the configuration or in a file that may change.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "common/runtime/watched_file.h"

namespace dynamo::kube {

/// The minimum interval between reads of a file. The kubelet and cert-manager renew files long before their
/// content expires; client-go reads them once a minute.
inline constexpr std::chrono::seconds kFileLookInterval{10};
/// The maximum size of a file. A CA bundle has less than 20 KiB, a token less than 4 KiB.
inline constexpr std::size_t kMaxSourceBytes = std::size_t{256} << 10;

class TextSource {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  /// Creates a source that is not given.
  TextSource() = default;
  static TextSource ofText(const std::string& text);
  static TextSource ofFile(std::string path);

  bool given() const { return file_.has_value() || !text_.empty(); }
  const std::string& path() const { return path_; }  ///< empty: the text is given in the configuration

  /// Reads the file if the last read is older than kFileLookInterval, or always if `now` is nullopt. If the
  /// file cannot be read or is empty, the previous text is kept. Returns an error message with the path if
  /// there is no previous text.
  std::optional<std::string> refresh(std::optional<Instant> now);
  /// Returns the text without leading and trailing white space.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string path_;
  std::optional<runtime::WatchedFile> file_;
  std::optional<Instant> looked_;
  std::string error_;  ///< the error of the last read
};

}  // namespace dynamo::kube
