#pragma once
// ASCII character classes, independent of the locale.

namespace dynamo::json {

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}

constexpr bool isLetter(char c) {
  return isLower(c) || (c >= 'A' && c <= 'Z');
}

constexpr bool isLowerOrDigit(char c) {
  return isLower(c) || isDigit(c);
}

constexpr bool isLetterOrDigit(char c) {
  return isLetter(c) || isDigit(c);
}

}  // namespace dynamo::json
