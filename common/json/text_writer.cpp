#include "common/json/text_writer.h"

#include <algorithm>
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
constexpr std::size_t kEscapeRoom = 6;          // \\u001F
constexpr std::size_t kDelimiterRoom = 4;       // a comma, the quotes of a string and a colon
constexpr std::size_t kMaxEscapeReserve = 512;  // bytes reserved at a time

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

/// Whether one of the eight bytes must be escaped.
bool anySpecial(std::uint64_t word) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  const auto zeroIn = [](std::uint64_t w) { return (w - kOnes) & ~w & kHighs; };
  const std::uint64_t control = (word - kOnes * 0x20U) & ~word & kHighs;
  return (control | zeroIn(word ^ (kOnes * '"')) | zeroIn(word ^ (kOnes * '\\'))) != 0;
}

#ifdef __SSE2__
/// Copies a block. Returns one bit for each byte that must be escaped, the lowest for the first byte.
unsigned copyBlock(const char* from, char* to) {
  const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(from)));
  _mm_storeu_si128(static_cast<__m128i*>(static_cast<void*>(to)), block);
  const __m128i lastControl = _mm_set1_epi8(0x1F);
  const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(block, lastControl), lastControl);
  const __m128i special = _mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                                             _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))));
  return static_cast<unsigned>(_mm_movemask_epi8(special));
}
#endif

/// Copies the plain bytes at the start of `text` block by block and returns how many there are. `out` has
/// room for one block more. A text shorter than a block is left to the caller.
std::size_t copyPlainBlocks(std::string_view text, char* out) {
  std::size_t done = 0;
#ifdef __SSE2__
  if (text.size() < kBlock) return 0;
  const std::size_t last = text.size() - kBlock;  // may overlap the block before it, which was all plain
  while (true) {
    if (const unsigned mask = copyBlock(text.data() + done, out + done); mask != 0) {
      return done + static_cast<std::size_t>(std::countr_zero(mask));
    }
    if (done == last) return text.size();
    done = std::min(done + kBlock, last);
  }
#else
  for (std::uint64_t word = 0; text.size() - done >= sizeof word; done += sizeof word) {
    std::memcpy(&word, text.data() + done, sizeof word);
    if (anySpecial(word)) break;
    std::memcpy(out + done, &word, sizeof word);
  }
  return done;
#endif
}

/// Copies a text shorter than a block, as most names are, with two overlapping words. Returns false when a
/// byte must be escaped or the text is shorter than the smallest word.
bool copyShortPlain(std::string_view text, char* out) {
  const auto copy = [&]<class Word>(Word) {
    if (text.size() < sizeof(Word)) return false;
    Word first = 0;
    Word last = 0;
    std::memcpy(&first, text.data(), sizeof first);
    std::memcpy(&last, text.data() + text.size() - sizeof last, sizeof last);
    // The bytes that a smaller word does not have are filled with blanks, which need no escape.
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
  reserve(length + kBlock + kDelimiterRoom);
  quote(separated(), {characters, length});
  return true;
}

bool TextWriter::Key(const char* characters, rapidjson::SizeType length, bool) {
  String(characters, length);
  put(':');
  return true;
}

void TextWriter::quote(char* out, std::string_view value) {
  *out++ = '"';
  if (value.size() < kBlock && copyShortPlain(value, out)) {
    out += value.size();
    *out++ = '"';
    endAt(out);
    return;
  }
  std::size_t room = value.size();  // for the rest of the text, besides one block and kDelimiterRoom
  while (true) {
    std::size_t plain = copyPlainBlocks(value, out);
    for (; plain < value.size() && isPlain(static_cast<unsigned char>(value[plain])); ++plain) {
      out[plain] = value[plain];
    }
    out += plain;
    if (plain == value.size()) break;
    room -= plain;
    if (room < value.size() - plain + kEscapeRoom) {
      // A text with one escaped byte usually has more of them, for example JSON inside a string.
      endAt(out);
      room = value.size() - plain + std::max(kEscapeRoom, std::min(value.size(), kMaxEscapeReserve));
      reserve(room + kBlock + kDelimiterRoom);
      out = end();
    }
    const char* before = out;
    out = escape(out, static_cast<unsigned char>(value[plain]));
    room -= static_cast<std::size_t>(out - before);
    value.remove_prefix(plain + 1);
  }
  *out++ = '"';
  endAt(out);
}

}  // namespace dynamo::json
