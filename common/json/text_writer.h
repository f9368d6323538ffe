#pragma once
// Writes JSON text into a std::string, from a RapidJSON value (it is a handler for Value::Accept) or call by
// call. RapidJSON's own Writer handles strings one byte at a time, this one sixteen bytes at a time.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/rapidjson.h"

namespace dynamo::json {

/// Writes values one after the other and adds commas and colons. The caller never passes NaN or infinity,
/// which are not JSON: no parsed document holds them, because guard() refuses numbers out of range.
class TextWriter {
 public:
  /// `expected`: about how many bytes the text will have.
  explicit TextWriter(std::size_t expected = 256) { text_.resize(expected); }

  // RapidJSON's Handler.
  bool Null() { return token("null"); }
  bool Bool(bool value) { return token(value ? "true" : "false"); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Uint64(value); }
  bool Int64(std::int64_t value);
  bool Uint64(std::uint64_t value);
  bool Double(double value);
  bool RawNumber(const char* digits, rapidjson::SizeType length, bool) { return token({digits, length}); }
  bool String(const char* characters, rapidjson::SizeType length, bool = false);
  bool StartObject() { return open('{'); }
  bool Key(const char* characters, rapidjson::SizeType length, bool = false);
  bool EndObject(rapidjson::SizeType = 0) { return close('}'); }
  bool StartArray() { return open('['); }
  bool EndArray(rapidjson::SizeType = 0) { return close(']'); }

  bool string(std::string_view value) {
    return String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  bool key(std::string_view name) { return Key(name.data(), static_cast<rapidjson::SizeType>(name.size())); }

  /// Appends text that is JSON already: a value, or a part of one after which a value may follow.
  void raw(std::string_view text) {
    reserve(text.size());
    append(text);
  }
  std::size_t size() const { return size_; }
  void truncate(std::size_t size) { size_ = size < size_ ? size : size_; }
  std::string take() {
    text_.resize(size_);
    return std::move(text_);
  }

 private:
  void reserve(std::size_t count) {
    if (text_.size() - size_ < count) text_.resize(grown() + count);
  }
  /// Twice the size. For texts of many MiB, whose size was guessed well, only a quarter more.
  std::size_t grown() const {
    constexpr std::size_t kLarge = std::size_t{16} << 20U;
    return text_.size() + (text_.size() < kLarge ? text_.size() : text_.size() / 4);
  }
  // These write into reserved room. They keep the position in a local variable: a write through char* might
  // change size_ as far as the compiler knows, so it would have to read size_ again after every byte.
  char* end() { return text_.data() + size_; }
  void endAt(const char* out) { size_ = static_cast<std::size_t>(out - text_.data()); }
  void put(char c) { text_[size_++] = c; }
  void append(std::string_view text) {
    text.copy(end(), text.size());
    size_ += text.size();
  }
  /// Where the next value starts: after a comma when a value precedes it. The last character tells: a value
  /// never ends with an opening bracket or a colon, because a string ends with its quote.
  char* separated() {
    char* out = end();
    if (size_ == 0) return out;
    const char last = out[-1];
    if (last != '{' && last != '[' && last != ':') *out++ = ',';
    return out;
  }
  bool token(std::string_view text) {
    reserve(text.size() + 1);
    char* out = separated();
    text.copy(out, text.size());
    endAt(out + text.size());
    return true;
  }
  bool open(char bracket) {
    reserve(2);
    char* out = separated();
    *out++ = bracket;
    endAt(out);
    return true;
  }
  bool close(char bracket) {
    reserve(1);
    put(bracket);
    return true;
  }
  /// Writes the string to `out`, where there is room for the text, one block and kAround characters.
  void quote(char* out, std::string_view value);

  std::string text_;  ///< the first size_ bytes are the text; the rest is room
  std::size_t size_ = 0;
};

}  // namespace dynamo::json
