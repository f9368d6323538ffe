#pragma once
// Well-formed UTF-8 (Unicode table 3-7), which JSON, log lines and configuration files require.

#include <cstddef>
#include <string>
#include <string_view>

namespace dynamo::json {

/// The length of the first character of `text` in bytes (1 to 4); 0 if it is malformed, incomplete or absent.
constexpr std::size_t utf8Length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned lead = at(0);
  if (lead < 0x80) return text.empty() ? 0 : 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && at(1) < 0xA0) return 0;  // overlong
    if (lead == 0xED && at(1) > 0x9F) return 0;  // surrogates
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && at(1) < 0x90) return 0;  // overlong
    if (lead == 0xF4 && at(1) > 0x8F) return 0;  // beyond U+10FFFF
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// Whether all of `text` is well-formed.
constexpr bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// `text` with U+FFFD instead of each malformed byte, as Go decodes it.
inline std::string repaired(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

/// A name for error messages: on one line, truncated after about 64 bytes.
inline std::string excerpt(std::string_view name) {
  constexpr std::size_t kMaxBytes = 64;
  std::string shown;
  while (!name.empty() && shown.size() < kMaxBytes) {
    const std::size_t length = utf8Length(name);
    const auto first = static_cast<unsigned char>(name[0]);
    const bool plain = length > 1 || (length == 1 && first >= 0x20 && first != 0x7F);
    shown += plain ? name.substr(0, length) : " ";
    name.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace dynamo::json
