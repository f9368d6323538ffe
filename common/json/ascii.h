#pragma once
// ASCII character classes, independent of the locale.

namespace dynamo::json {

constexpr bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace dynamo::json
