#pragma once
// Assertions of fuzz targets. A failed assertion aborts, and libFuzzer keeps the input.

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dynamo::fuzz {

inline void require(bool holds, const char* statement, std::string_view about = {}) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n%.*s\n", statement, static_cast<int>(about.size()), about.data());
  std::abort();
}

/// The same. `about` is only called when the assertion fails.
template <std::invocable About>
void require(bool holds, const char* statement, About about) {
  if (!holds) require(false, statement, about());
}

/// Whether a text for users has no line breaks and no terminal control characters.
inline bool isOneLine(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace dynamo::fuzz
