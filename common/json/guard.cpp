// Checks the raw text in one pass, before RapidJSON sees it. The pass goes block by block and looks closely
// only at the bytes that can be wrong.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/json/ascii.h"
#include "common/json/parse.h"
#include "common/json/utf8.h"

namespace dynamo::json {
namespace {

/// One bit for each byte of a block of text. The lowest bit stands for the first byte.
using Mask = std::uint64_t;
constexpr std::ptrdiff_t kBlock = 64;

/// Where the interesting bytes of a block are, whether inside strings or not.
struct Block {
  Mask quotes = 0;
  Mask slashes = 0;
  /// Control characters (white space among them) and bytes beyond ASCII.
  Mask special = 0;
  Mask brackets = 0;
  /// What may start a number, '-' and digits, and the '.' and '/' between them.
  Mask numbers = 0;
};

bool isBracket(char c) {
  const int brace = c | 0x20;  // [ and ] differ from { and } by this bit
  return brace == '{' || brace == '}';
}

/// The masks of `text`, which is at most one block long.
Block classify(std::string_view text) {
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
Block classifyWhole(const char* text) {
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
Block classifyWhole(const char* text) {
  return classify({text, kBlock});
}
#endif

/// The bits of the first `length` bytes.
Mask upTo(std::ptrdiff_t length) {
  return length == kBlock ? ~Mask{0} : (Mask{1} << static_cast<unsigned>(length)) - 1;
}

/// Bit i of the result is the XOR of bits 0 to i. For a mask of quotes it says which bytes are in a string.
Mask prefixXor(Mask mask) {
  for (unsigned shift = 1; shift < kBlock; shift *= 2) mask ^= mask << shift;
  return mask;
}

/// Decimals up to this length without an exponent cannot be out of range.
constexpr std::ptrdiff_t kPlainLength = 15;

/// The 4 hexadecimal digits at `p`, or -1.
int hex4(const char* p, const char* end) {
  if (end - p < 4) return -1;
  int value = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const int digit = isDigit(c)               ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

class Guard {
 public:
  Guard(std::string_view text, std::size_t maxDepth)
      : begin_(text.data()), p_(begin_), end_(begin_ + text.size()), maxDepth_(maxDepth) {}

  std::optional<ParseError> run() {
    for (const char* at = begin_; at != end_;) {
      const std::ptrdiff_t length = std::min(kBlock, end_ - at);
      const Block block =
          length == kBlock ? classifyWhole(at) : classify({at, static_cast<std::size_t>(length)});
      const Mask escaped = escapedIn(block.slashes);
      const Mask inString = prefixXor(block.quotes & ~escaped) ^ openString_;
      openString_ = (inString >> (kBlock - 1)) != 0 ? ~Mask{0} : 0;
      const Mask unicode = escaped == 0 ? 0 : named(at, escaped & inString & upTo(length), 'u');
      const Mask brackets = block.brackets & ~inString;
      const Mask numbers = block.numbers & ~inString;
      const bool plain =
          (block.special | unicode) == 0 && shortNumbers(at, numbers, length) && shallow(at, brackets);
      if (!plain) {
        if (const char* reason = closely(at, block.special | unicode | brackets | numbers, inString)) {
          return error(reason);
        }
      }
      at += length;
    }
    return std::nullopt;
  }

 private:
  std::optional<ParseError> error(const char* reason) const {
    ParseError result;
    result.reason = reason;
    result.offset = static_cast<std::size_t>(p_ - begin_);
    return result;
  }

  /// The bytes that a backslash escapes. A backslash that is escaped itself escapes nothing.
  Mask escapedIn(Mask slashes) {
    Mask escaped = escapedNext_;
    escapedNext_ = 0;
    for (Mask left = slashes & ~escaped; left != 0;) {
      const Mask slash = left & -left;
      const Mask next = slash << 1U;
      if (next == 0) escapedNext_ = 1;
      escaped |= next;
      left &= ~(slash | next);
    }
    return escaped;
  }

  /// The bytes of `among` that equal `c`.
  static Mask named(const char* block, Mask among, char c) {
    Mask found = 0;
    for (; among != 0; among &= among - 1) {
      if (block[std::countr_zero(among)] == c) found |= among & -among;
    }
    return found;
  }

  /// Counts the brackets of a block. Returns false, and counts nothing, when they may nest too deeply.
  bool shallow(const char* block, Mask brackets) {
    std::size_t depth = depth_;
    for (; brackets != 0; brackets &= brackets - 1) {
      const bool opens = (static_cast<unsigned char>(block[std::countr_zero(brackets)]) & 4U) == 0;
      if (opens) {
        if (++depth > maxDepth_) return false;
      } else if (depth != 0) {
        --depth;  // the parser refuses a closing bracket too many
      }
    }
    depth_ = depth;
    return true;
  }

  /// Whether every number of the block is so short that it must be in range.
  bool shortNumbers(const char* block, Mask numbers, std::ptrdiff_t length) const {
    while (numbers != 0) {
      const int start = std::countr_zero(numbers);
      const int size = std::countr_one(numbers >> static_cast<unsigned>(start));
      const int end = start + size;
      if (end == length || size > kPlainLength || block[end] == 'e' || block[end] == 'E') return false;
      numbers &= ~Mask{0} << static_cast<unsigned>(end);
    }
    return true;
  }

  /// Checks each byte of `due` in the order of the text. Returns the first error.
  const char* closely(const char* block, Mask due, Mask inString) {
    for (; due != 0; due &= due - 1) {
      const int index = std::countr_zero(due);
      if (block + index < p_) continue;  // checked together with an earlier byte
      p_ = block + index;
      const bool within = ((inString >> static_cast<unsigned>(index)) & 1U) != 0;
      if (const char* reason = within ? inside() : outside()) return reason;
    }
    return nullptr;
  }

  /// At a byte of a string: the u of an escape, a control character or a byte beyond ASCII.
  const char* inside() {
    const auto c = static_cast<unsigned char>(*p_);
    if (c == 'u') return escape();
    if (c < 0x20) return "control character in a string";
    const std::size_t length = utf8Length({p_, static_cast<std::size_t>(end_ - p_)});
    if (length == 0) return "invalid UTF-8";
    p_ += length;
    return nullptr;
  }

  /// At a byte between strings. Only printable ASCII and white space are JSON there. NUL is the most
  /// important one to refuse: RapidJSON takes it for the end of the text.
  const char* outside() {
    switch (*p_) {
      case '{':
      case '[':
        return ++depth_ > maxDepth_ ? "nested too deeply" : nullptr;
      case '}':
      case ']':
        if (depth_ != 0) --depth_;  // the parser refuses a closing bracket too many
        return nullptr;
      case '\t':
      case '\n':
      case '\r':
      case '.':  // the parser refuses a misplaced '.' or '/'
      case '/':
        return nullptr;
      default:
        return *p_ == '-' || isDigit(*p_) ? number() : "invalid character";
    }
  }

  /// At the u of an escape: checks its digits and, of a surrogate, the other half.
  const char* escape() {
    const char* slash = p_ - 1;
    p_ = slash;
    const int code = hex4(slash + 2, end_);
    if (code < 0) return "invalid \\u escape";
    if (code >= 0xDC00 && code <= 0xDFFF) return "unpaired surrogate escape";
    if (code >= 0xD800 && code <= 0xDBFF) {
      const bool paired = end_ - slash >= 12 && slash[6] == '\\' && slash[7] == 'u';
      const int low = paired ? hex4(slash + 8, end_) : -1;
      if (low < 0xDC00 || low > 0xDFFF) return "unpaired surrogate escape";
      p_ += 6;
    }
    p_ += 6;
    return nullptr;
  }

  const char* number() {
    const char* start = p_;
    if (*p_ == '-') ++p_;
    const char* integer = p_;
    while (p_ != end_ && isDigit(*p_)) ++p_;
    if (p_ == end_ || (*p_ != '.' && *p_ != 'e' && *p_ != 'E')) {
      // 308 digits are about the largest float64.
      if (p_ - integer > 300) {
        p_ = start;
        return "number out of range";
      }
      return nullptr;
    }
    const std::ptrdiff_t digits = p_ - integer;
    if (*p_ == '.') {
      ++p_;
      while (p_ != end_ && isDigit(*p_)) ++p_;
    }
    long exponent = 0;
    const bool scientific = p_ != end_ && (*p_ == 'e' || *p_ == 'E');
    if (scientific) {
      ++p_;
      const bool negative = p_ != end_ && *p_ == '-';
      if (p_ != end_ && (*p_ == '-' || *p_ == '+')) ++p_;
      while (p_ != end_ && isDigit(*p_)) {
        if (exponent < 100000) exponent = exponent * 10 + (*p_ - '0');
        ++p_;
      }
      if (negative) exponent = -exponent;
    }
    // Go refuses what overflows. RapidJSON 1.1.0 refuses longer exponents with another message, or reads them
    // wrongly.
    const std::ptrdiff_t length = p_ - start;
    if (length > static_cast<std::ptrdiff_t>(kMaxNumberLength) || exponent > 308 || exponent < -400 ||
        digits > 308 || digits + exponent > 309 ||
        ((scientific || length > kPlainLength) && outOfRange(start))) {
      p_ = start;
      return "number out of range";
    }
    return nullptr;
  }

  /// Whether the token from `start` to here is beyond the largest float64, or so small that it reads as zero.
  bool outOfRange(const char* start) const {
    double value = 0;
    return std::from_chars(start, p_, value).ec == std::errc::result_out_of_range;
  }

  const char* begin_;
  const char* p_;  ///< everything before it has been checked
  const char* end_;
  std::size_t maxDepth_;
  std::size_t depth_ = 0;
  Mask openString_ = 0;   ///< all ones when the last block ended inside a string
  Mask escapedNext_ = 0;  ///< 1 when the last block ended with a backslash that escapes the next byte
};

}  // namespace

std::optional<ParseError> guard(std::string_view text, std::size_t maxDepth) {
  return Guard{text, maxDepth}.run();
}

}  // namespace dynamo::json
