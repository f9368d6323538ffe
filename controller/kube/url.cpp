#include "controller/kube/url.h"

namespace dynamo::kube {
namespace {

bool isUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void appendEscaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (isUnreserved(c)) {
      out += c;
    } else {
      appendEscaped(out, c);
    }
  }
  return out;
}

}  // namespace

std::string escapeSegment(std::string_view text) {
  if (text != "." && text != "..") return escape(text);
  std::string out;
  for (const char c : text) appendEscaped(out, c);
  return out;
}

Query& Query::add(std::string_view name, std::string_view value) {
  if (value.empty()) return *this;
  text_.append(text_.empty() ? "?" : "&").append(name).append("=").append(escape(value));
  return *this;
}

Query& Query::add(std::string_view name, std::int64_t value) {
  return value == 0 ? *this : add(name, std::string_view{std::to_string(value)});
}

}  // namespace dynamo::kube
