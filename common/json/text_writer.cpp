#include "common/json/text_writer.h"

#include <bit>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dynamo::json {
namespace {

constexpr std::size_t kNumberRoom = 32;  // the longest double has 25 characters
constexpr std::size_t kBlock = 16;
constexpr std::size_t kEscapeRoom = 6;  // \\u001F
constexpr std::size_t kAround = 4;      // of a string: a comma, its quotes and a colon

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

/// Whether one of the eight bytes must be escaped.
bool anySpecial(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  const auto zeroIn = [](std::uint64_t w) { return (w - kOnes) & ~w & kHighs; };
  const std::uint64_t control = (word - kOnes * 0x20U) & ~word & kHighs;
  return (control | zeroIn(word ^ (kOnes * '"')) | zeroIn(word ^ (kOnes * '\\'))) != 0;
}

/// Most names have fewer bytes than a block: two overlapping words see all of them. False: something must be
/// escaped, or the text is too short.
bool copyShortPlain(std::string_view text, char* out) {
  const auto copy = [&]<class Word>(Word) {
    if (text.size() < sizeof(Word)) return false;
    Word first = 0;
    Word last = 0;
    std::memcpy(&first, text.data(), sizeof first);
    std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
    // Bytes that a smaller word lacks count as blanks.
    constexpr std::uint64_t kBlanks = sizeof(Word) == sizeof(std::uint64_t) ? 0 : 0x2020202000000000U;
    if (anySpecial(first | kBlanks) || anySpecial(last | kBlanks)) return false;
    std::memcpy(out, &first, sizeof first);
    std::memcpy(out + text.size() - sizeof last, &last, sizeof last);
    return true;
  };
  return text.size() >= sizeof(std::uint64_t) ? copy(std::uint64_t{}) : copy(std::uint32_t{});
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
  reserve(length + kBlock + kAround);
  separate();
  quote({characters, length});
  return true;
}

bool TextWriter::Key(const char* characters, rapidjson::SizeType length, bool) {
  String(characters, length);
  put(':');
  return true;
}

void TextWriter::quote(std::string_view value) {
  put('"');
  if (value.size() < kBlock && copyShortPlain(value, text_.data() + size_)) {
    size_ += value.size();
    put('"');
    return;
  }
  while (true) {
    char* out = text_.data() + size_;
    std::size_t plain = copyPlainBlocks(value, out);
    for (; plain < value.size() && isPlain(static_cast<unsigned char>(value[plain])); ++plain) {
      out[plain] = value[plain];
    }
    size_ += plain;
    if (plain == value.size()) break;
    reserve(kEscapeRoom + value.size() - plain + kBlock + kAround);
    out = text_.data() + size_;
    size_ += static_cast<std::size_t>(escape(out, static_cast<unsigned char>(value[plain])) - out);
    value.remove_prefix(plain + 1);
  }
  put('"');
}

}  // namespace dynamo::json
