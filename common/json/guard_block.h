#pragma once
// Where the interesting bytes of a block of JSON text are. Each kind of byte has a mask, so that guard.cpp
// looks closely at few bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dynamo::json {

/// One bit for each byte of a block of text. The lowest bit stands for the first byte.
using Mask = std::uint64_t;
inline constexpr std::ptrdiff_t kBlock = 64;

/// The positions of special bytes in a block, inside and outside of strings.
struct Block {
  Mask quotes = 0;
  Mask slashes = 0;
  /// Control characters (white space among them) and bytes beyond ASCII.
  Mask special = 0;
  Mask brackets = 0;
  /// Bytes that may start a number ('-' and digits), and '.' and '/', which lie between them in ASCII.
  Mask numbers = 0;
};

inline bool isBracket(char c) {
  const int brace = c | 0x20;  // [ and ] differ from { and } by this bit
  return brace == '{' || brace == '}';
}

/// The masks of `text`, which is at most one block long.
inline Block classify(std::string_view text) {
  Block block;
  Mask bit = 1;
  for (const char c : text) {
    if (c == '"') block.quotes |= bit;
    if (c == '\\') block.slashes |= bit;
    if (static_cast<signed char>(c) < 0x20) block.special |= bit;
    if (isBracket(c)) block.brackets |= bit;
    if (c >= '-' && c <= '9') block.numbers |= bit;
    bit <<= 1U;
  }
  return block;
}

#ifdef __SSE2__
inline Block classifyWhole(const char* text) {
  const auto all = [](char c) { return _mm_set1_epi8(c); };
  const auto bits = [](__m128i equal) { return static_cast<Mask>(_mm_movemask_epi8(equal)); };
  Block block;
  for (unsigned at = 0; at < kBlock; at += 16) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(text + at)));
    block.quotes |= bits(_mm_cmpeq_epi8(bytes, all('"'))) << at;
    block.slashes |= bits(_mm_cmpeq_epi8(bytes, all('\\'))) << at;
    // A signed comparison: bytes beyond ASCII are negative.
    block.special |= bits(_mm_cmplt_epi8(bytes, all(0x20))) << at;
    const __m128i braces = _mm_or_si128(bytes, all(0x20));
    block.brackets |= bits(_mm_or_si128(_mm_cmpeq_epi8(braces, all('{')), _mm_cmpeq_epi8(braces, all('}'))))
                      << at;
    const __m128i fromMinus = _mm_sub_epi8(bytes, all('-'));
    block.numbers |= bits(_mm_cmpeq_epi8(fromMinus, _mm_min_epu8(fromMinus, all('9' - '-')))) << at;
  }
  return block;
}
#else
inline Block classifyWhole(const char* text) {
  return classify({text, kBlock});
}
#endif

/// The bits of the first `length` bytes.
inline Mask upTo(std::ptrdiff_t length) {
  return length == kBlock ? ~Mask{0} : (Mask{1} << static_cast<unsigned>(length)) - 1;
}

/// Bit i of the result is the XOR of bits 0 to i. For a mask of quotes it marks the bytes in strings.
inline Mask prefixXor(Mask mask) {
  for (unsigned shift = 1; shift < kBlock; shift *= 2) mask ^= mask << shift;
  return mask;
}

}  // namespace dynamo::json
