#include "controller/kube/line_buffer.h"

namespace dynamo::kube {

void LineBuffer::put(std::string_view piece) {
  if (start_ > 0) {
    text_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
  }
  text_.append(piece);
}

std::optional<std::string> LineBuffer::take() {
  while (!overflown_) {
    const std::size_t end = text_.find('\n', scanned_);
    scanned_ = end == std::string::npos ? text_.size() : end;
    if (scanned_ - start_ > max_) {
      overflown_ = true;
      break;
    }
    if (end == std::string::npos) break;
    std::string line = text_.substr(start_, end - start_);
    start_ = scanned_ = end + 1;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) return line;
  }
  return std::nullopt;
}

}  // namespace dynamo::kube
