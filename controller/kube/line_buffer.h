#pragma once
// Splits a stream of bytes into lines. Each event of a watch is one line.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::kube {

class LineBuffer {
 public:
  /// Accepts lines of at most `max` bytes.
  explicit LineBuffer(std::size_t max) : max_(max) {}

  void put(std::string_view piece);
  /// Returns the next complete line without its line break, and skips empty lines. Returns nullopt if more
  /// input is needed.
  std::optional<std::string> take();
  /// Returns true if the next line is too long. `take` then returns no more lines.
  bool overflown() const { return overflown_; }
  /// Returns true if the buffer contains bytes after the last complete line.
  bool hasRest() const { return start_ < text_.size(); }

 private:
  std::size_t max_;
  std::string text_;
  std::size_t start_ = 0;    ///< offset of the next line
  std::size_t scanned_ = 0;  ///< there is no line break between start_ and this offset
  bool overflown_ = false;
};

}  // namespace dynamo::kube
