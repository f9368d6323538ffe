#pragma once
// Writes JSON text into a std::string, from a RapidJSON value (as a handler for Value::Accept) or call by
// call. RapidJSON's own Writer processes strings one byte at a time; this one processes sixteen bytes at a
// time.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/rapidjson.h"

namespace dynamo::json {

/// Writes values one after the other and adds commas and colons. NaN and infinity are not JSON and must not
/// be passed. Parsed documents do not contain them, because guard() rejects numbers out of range.
class TextWriter {
 public:
  /// `expected`: the approximate size of the text in bytes.
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

  /// Appends text that is already JSON: a value, or a part of one that a value may follow.
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
  /// The next size: twice the current one, or a quarter more for large texts, whose expected size is
  /// accurate.
  std::size_t grown() const {
    constexpr std::size_t kLarge = std::size_t{16} << 20U;
    return text_.size() + (text_.size() < kLarge ? text_.size() : text_.size() / 4);
  }
  // The following functions write into reserved memory. They keep the position in a local variable. Otherwise
  // the compiler would reload size_ after every byte, because a write through char* could change it.
  char* end() { return text_.data() + size_; }
  void endAt(const char* out) { size_ = static_cast<std::size_t>(out - text_.data()); }
  void put(char c) { text_[size_++] = c; }
  void append(std::string_view text) {
    text.copy(end(), text.size());
    size_ += text.size();
  }
  /// The position of the next value, after a comma if another value precedes it. The last character is
  /// sufficient to detect this: no value ends with an opening bracket or a colon.
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
  /// Writes the string to `out`, which must have room for the text, one block and kDelimiterRoom characters.
  void quote(char* out, std::string_view value);

  std::string text_;  ///< the first size_ bytes are the text; the rest is reserved
  std::size_t size_ = 0;
};

}  // namespace dynamo::json
