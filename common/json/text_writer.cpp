#include "common/json/text_writer.h"

#include "common/json/plain_run.h"

namespace dynamo::json {
namespace {

constexpr std::size_t kNumberRoom = 32;  // the longest double has 25 characters

void escape(std::string& text, unsigned char c) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  text.push_back('\\');
  switch (c) {
    case '"':
    case '\\':
      text.push_back(static_cast<char>(c));
      return;
    case '\b':
      text.push_back('b');
      return;
    case '\f':
      text.push_back('f');
      return;
    case '\n':
      text.push_back('n');
      return;
    case '\r':
      text.push_back('r');
      return;
    case '\t':
      text.push_back('t');
      return;
    default:
      text.append({'u', '0', '0', kHex[c >> 4U], kHex[c & 0xFU]});
  }
}

}  // namespace

bool TextWriter::Int64(std::int64_t value) {
  char digits[kNumberRoom];
  return token({digits, rapidjson::internal::i64toa(value, digits)});
}

bool TextWriter::Uint64(std::uint64_t value) {
  char digits[kNumberRoom];
  return token({digits, rapidjson::internal::u64toa(value, digits)});
}

bool TextWriter::Double(double value) {
  char digits[kNumberRoom];
  return token({digits, rapidjson::internal::dtoa(value, digits)});
}

bool TextWriter::String(const char* characters, rapidjson::SizeType length, bool) {
  separate();
  quote({characters, length});
  return true;
}

bool TextWriter::Key(const char* characters, rapidjson::SizeType length, bool) {
  separate();
  quote({characters, length});
  text_.push_back(':');
  return true;
}

void TextWriter::quote(std::string_view value) {
  text_.push_back('"');
  while (true) {
    const std::size_t plain = plainRun(value);
    text_.append(value.substr(0, plain));
    if (plain == value.size()) break;
    escape(text_, static_cast<unsigned char>(value[plain]));
    value.remove_prefix(plain + 1);
  }
  text_.push_back('"');
}

}  // namespace dynamo::json
