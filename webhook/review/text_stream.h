#pragma once
// A std::string as an output stream of RapidJSON's writers: they reserve before a token and then write
// unchecked, and the text needs no copy at the end.

#include <algorithm>
#include <string>
#include <string_view>

#include "common/json/rapidjson.h"

namespace dynamo::webhook {

class TextStream {
 public:
  using Ch = char;

  explicit TextStream(std::size_t expected) { text_.resize(std::max<std::size_t>(expected, 64)); }

  void Reserve(std::size_t count) {
    if (text_.size() - size_ < count) text_.resize(std::max(text_.size() * 2, size_ + count));
  }
  void PutUnsafe(char c) { text_[size_++] = c; }
  void Put(char c) {
    Reserve(1);
    PutUnsafe(c);
  }
  void Flush() {}

  void append(std::string_view text) {
    Reserve(text.size());
    text.copy(text_.data() + size_, text.size());
    size_ += text.size();
  }
  std::size_t size() const { return size_; }
  void truncate(std::size_t size) { size_ = std::min(size, size_); }
  std::string take() {
    text_.resize(size_);
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t size_ = 0;
};

}  // namespace dynamo::webhook

namespace rapidjson {

template <>
inline void PutReserve(dynamo::webhook::TextStream& stream, std::size_t count) {
  stream.Reserve(count);
}
template <>
inline void PutUnsafe(dynamo::webhook::TextStream& stream, char c) {
  stream.PutUnsafe(c);
}

}  // namespace rapidjson
