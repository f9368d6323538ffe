#pragma once
// How many bytes of a string stand in JSON text as they are.

#include <bit>
#include <cstddef>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dynamo::json {

/// The number of leading bytes that are no quote, no backslash and no control character. Other bytes count as
/// plain, UTF-8 included.
inline std::size_t plainRun(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i slash = _mm_set1_epi8('\\');
  const __m128i lastControl = _mm_set1_epi8(0x1F);
  while (left >= 16) {
    const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(at)));
    const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(block, lastControl), lastControl);
    const __m128i special =
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return text.size() - left + static_cast<std::size_t>(std::countr_zero(mask));
    at += 16;
    left -= 16;
  }
#endif
  while (left != 0) {
    const auto c = static_cast<unsigned char>(*at);
    if (c < 0x20 || c == '"' || c == '\\') break;
    ++at;
    --left;
  }
  return text.size() - left;
}

}  // namespace dynamo::json
