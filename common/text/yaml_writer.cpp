#include "common/text/yaml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace dynamo::text {
namespace {

using json::Value;

// Words that YAML 1.1 interprets as booleans or null.
constexpr std::array<std::string_view, 10> kWords{"true", "false", "yes", "no", "on",
                                                  "off",  "null",  "y",   "n",  "~"};

bool isPlain(std::string_view word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word.front())) == 0) return false;
  std::string lower{word};
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return false;
  const auto isFine = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view{" $-_./(),;+%"}.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return std::all_of(word.begin(), word.end(), isFine) && word.back() != ' ';
}

bool isBlock(const Value& value) {
  return (value.IsObject() && !value.ObjectEmpty()) || (value.IsArray() && !value.Empty());
}

/// A range of characters that YAML does not allow, or interprets as line breaks. Both ends are included.
struct Range {
  std::string_view first;
  std::string_view last;
  unsigned code;  ///< code point of `first`
};
constexpr std::array<Range, 5> kEscaped{{{"\x7f", "\x7f", 0x7f},
                                         {"\xc2\x80", "\xc2\x9f", 0x80},
                                         {"\xe2\x80\xa8", "\xe2\x80\xa9", 0x2028},
                                         {"\xef\xbb\xbf", "\xef\xbb\xbf", 0xfeff},
                                         {"\xef\xbf\xbe", "\xef\xbf\xbf", 0xfffe}}};

/// JSON text with these characters written as \u...., which YAML also accepts.
std::string escaped(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const auto range = std::find_if(kEscaped.begin(), kEscaped.end(), [&](const Range& each) {
      const std::string_view character = json.substr(0, each.first.size());
      return character >= each.first && character <= each.last;
    });
    if (range == kEscaped.end()) {
      out += json.front();
      json.remove_prefix(1);
      continue;
    }
    const std::size_t length = range->first.size();
    const auto ordinal = [&](std::string_view character) {
      return static_cast<unsigned>(static_cast<unsigned char>(character[length - 1]));
    };
    out += fmt::format("\\u{:04x}", range->code + ordinal(json) - ordinal(range->first));
    json.remove_prefix(length);
  }
  return out;
}

std::string scalar(const Value& value) {
  if (value.IsString() && isPlain(json::text(value))) return std::string{json::text(value)};
  std::string written = json::dump(value);
  const bool odd = std::any_of(written.begin(), written.end(),
                               [](char c) { return static_cast<unsigned char>(c) >= 0x7f; });
  return odd ? escaped(written) : written;
}

void write(const Value& value, std::size_t indent, std::string& out);

/// Writes the value after a key or a dash: on the same line, or as a block below.
void writeAfter(const Value& value, std::size_t indent, std::string& out) {
  if (isBlock(value)) {
    out += '\n';
    write(value, indent, out);
  } else {
    out += ' ' + scalar(value) + '\n';
  }
}

/// The maximum length of a key without the explicit key indicator "?".
constexpr std::size_t kMaxSimpleKey = 1000;

void writeMembers(const Value& object, std::size_t indent, bool dashed, std::string& out) {
  bool first = dashed;
  for (const auto& member : object.GetObject()) {
    if (!first) out.append(indent, ' ');
    first = false;
    const std::string name = scalar(member.name);
    if (name.size() <= kMaxSimpleKey) {
      out += name + ':';
    } else {
      out += "? " + name + '\n' + std::string(indent, ' ') + ':';
    }
    // Lists have the indentation of their member.
    writeAfter(member.value, member.value.IsArray() ? indent : indent + 2, out);
  }
}

void write(const Value& value, std::size_t indent, std::string& out) {
  if (value.IsObject()) return writeMembers(value, indent, false, out);
  for (const Value& item : value.GetArray()) {
    out.append(indent, ' ');
    out += '-';
    if (item.IsObject() && !item.ObjectEmpty()) {
      out += ' ';
      writeMembers(item, indent + 2, true, out);
    } else {
      writeAfter(item, indent + 2, out);
    }
  }
}

}  // namespace

std::string toYaml(const json::Value& value) {
  std::string out;
  write(value, 0, out);
  return out;
}

}  // namespace dynamo::text
