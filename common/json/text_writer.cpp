#include "common/json/text_writer.h"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dynamo::json {
namespace {

constexpr std::size_t kNumberRoom = 32;  // the longest double has 25 characters
constexpr std::size_t kBlock = 16;
constexpr std::size_t kEscapeRoom = 6;  // \\u001F

bool isPlain(unsigned char c) {
  return c >= 0x20 && c != '"' && c != '\\';
}

char* escape(char* out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kShort{"btn\0fr", 6};  // from 0x08 on; 0x0B has none
  *out++ = '\\';
  if (c >= 0x20) {
    *out++ = static_cast<char>(c);
  } else if (c >= 0x08 && c <= 0x0D && kShort[c - 0x08U] != '\0') {
    *out++ = kShort[c - 0x08U];
  } else {
    *out++ = 'u';
    *out++ = '0';
    *out++ = '0';
    *out++ = kHex[c >> 4U];
    *out++ = kHex[c & 0xFU];
  }
  return out;
}

/// Writes the plain bytes that `text` starts with, in blocks: `out` has room for a block more. Returns their
/// number; fewer than a block of plain ones may be left at the end.
std::size_t copyPlainBlocks(std::string_view text, char* out) {
  std::size_t done = 0;
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i slash = _mm_set1_epi8('\\');
  const __m128i lastControl = _mm_set1_epi8(0x1F);
  for (; text.size() - done >= kBlock; done += kBlock) {
    const void* from = text.data() + done;
    void* to = out + done;
    const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(from));
    _mm_storeu_si128(static_cast<__m128i*>(to), block);
    const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(block, lastControl), lastControl);
    const __m128i special =
        _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash)));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return done + static_cast<std::size_t>(std::countr_zero(mask));
  }
#endif
  return done;
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
  reserve(1);
  separate();
  quote({characters, length});
  return true;
}

bool TextWriter::Key(const char* characters, rapidjson::SizeType length, bool) {
  String(characters, length);
  reserve(1);
  put(':');
  return true;
}

void TextWriter::quote(std::string_view value) {
  reserve(value.size() + kBlock + 2);
  put('"');
  while (true) {
    char* out = text_.data() + size_;
    std::size_t plain = copyPlainBlocks(value, out);
    for (; plain < value.size() && isPlain(static_cast<unsigned char>(value[plain])); ++plain) {
      out[plain] = value[plain];
    }
    size_ += plain;
    if (plain == value.size()) break;
    reserve(kEscapeRoom + value.size() - plain + kBlock + 2);
    out = text_.data() + size_;
    size_ += static_cast<std::size_t>(escape(out, static_cast<unsigned char>(value[plain])) - out);
    value.remove_prefix(plain + 1);
  }
  put('"');
}

}  // namespace dynamo::json
