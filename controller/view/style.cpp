#include "controller/view/style.h"

namespace dynamo::view {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

std::string_view sequenceOf(Color color) {
  switch (color) {
    case Color::Red:
      return "\x1b[31m";
    case Color::Green:
      return "\x1b[32m";
    case Color::Yellow:
      return "\x1b[33m";
    case Color::Cyan:
      return "\x1b[36m";
    case Color::Bold:
      return "\x1b[1m";
    case Color::Dim:
      return "\x1b[2m";
    case Color::Plain:
      break;
  }
  return "";
}

/// Returns true if the byte is not the first one of a UTF-8 character.
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

}  // namespace

std::string Style::paint(Color color, std::string_view text) const {
  if (!colored_ || color == Color::Plain || text.empty()) return std::string{text};
  return std::string{sequenceOf(color)}.append(text).append(kReset);
}

bool usesColor(std::string_view flag, bool terminal, std::string_view noColor) {
  if (flag == "always") return true;
  return flag == "auto" && terminal && noColor.empty();
}

std::size_t columnsOf(std::string_view text) {
  std::size_t columns = 0;
  for (const char byte : text) columns += continues(byte) ? 0 : 1;
  return columns;
}

std::string cutLine(std::string_view line, std::size_t columns) {
  std::string out;
  std::size_t used = 0;
  bool colored = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      const std::size_t end = line.find('m', i);
      if (end == std::string_view::npos) break;
      out += line.substr(i, end + 1 - i);
      colored = true;
      i = end;
      continue;
    }
    if (!continues(line[i]) && ++used > columns) {
      if (colored) out += kReset;
      break;
    }
    out += line[i];
  }
  return out;
}

}  // namespace dynamo::view
