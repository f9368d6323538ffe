#pragma once
// What a fuzz target asserts: a broken promise aborts, so that libFuzzer keeps the input.

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

}  // namespace dynamo::fuzz
