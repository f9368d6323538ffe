#include "common/field/show.h"

#include <algorithm>

namespace dynamo::field {
namespace {

constexpr std::size_t kMaxShownValue = 64;

}  // namespace

std::string oneLine(std::string_view s, std::size_t limit) {
  std::string out;
  out.reserve(std::min(s.size(), limit));
  for (std::size_t i = 0; i < s.size() && out.size() <= limit; ++i) {
    const auto byte = static_cast<unsigned char>(s[i]);
    const auto next = i + 1 < s.size() ? static_cast<unsigned char>(s[i + 1]) : 0U;
    if (byte == 0xC2 && next >= 0x80 &&
        next <= 0x9F) {  // Go also treats U+0080 to U+009F as control characters
      out += ' ';
      ++i;
    } else {
      out += byte < 0x20 || byte == 0x7F ? ' ' : s[i];
    }
  }
  if (out.size() <= limit) return out;
  std::size_t cut = limit < 3 ? 0 : limit - 3;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0U) == 0x80U) --cut;
  out.resize(cut);
  return out + "...";
}

std::string cutAtWord(std::string_view line, std::size_t limit) {
  constexpr std::string_view kMark = "...";
  if (line.size() <= limit || limit <= kMark.size()) return oneLine(line, limit);
  const std::size_t room = limit - kMark.size();
  const std::size_t blank = line.rfind(' ', room);
  const std::size_t end = blank == std::string_view::npos ? 0 : line.find_last_not_of(' ', blank) + 1;
  if (end == 0 || end == std::string_view::npos + 1) return oneLine(line, limit);
  return std::string{line.substr(0, end)}.append(kMark);
}

std::string showValue(std::string_view text) {
  json::Document scratch;
  return json::dump(json::string(oneLine(text, kMaxShownValue), scratch.GetAllocator()));
}

std::string showValue(const json::Value& value) {
  if (value.IsString()) return showValue(json::text(value));
  return oneLine(json::dump(value), kMaxShownValue);
}

}  // namespace dynamo::field
