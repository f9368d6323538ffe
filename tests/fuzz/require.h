#pragma once
// What a fuzz target asserts: a broken promise aborts, so that libFuzzer keeps the input.

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dynamo::fuzz {

inline void require(bool holds, const char* promise, std::string_view about = {}) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%.*s\n", promise, static_cast<int>(about.size()), about.data());
  std::abort();
}

/// The same; `about` is asked for the text when the promise is broken.
template <std::invocable About>
void require(bool holds, const char* promise, About about) {
  if (!holds) require(false, promise, about());
}

/// What people read: no line breaks, nothing that a terminal takes for commands.
inline bool isOneLine(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace dynamo::fuzz
