// Checks the raw text in one pass, before RapidJSON sees it. The pass goes block by block and looks closely
// only at the bytes that can be wrong.

#include <algorithm>
#include <bit>
#include <charconv>

#include "common/json/ascii.h"
#include "common/json/guard_block.h"
#include "common/json/parse.h"
#include "common/json/utf8.h"

namespace dynamo::json {
namespace {

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

  /// Counts the brackets of a block. Returns false and counts nothing if they may exceed the maximum depth.
  bool shallow(const char* block, Mask brackets) {
    std::size_t depth = depth_;
    for (; brackets != 0; brackets &= brackets - 1) {
      const bool opens = (static_cast<unsigned char>(block[std::countr_zero(brackets)]) & 4U) == 0;
      if (opens) {
        if (++depth > maxDepth_) return false;
      } else if (depth != 0) {
        --depth;  // the parser rejects a superfluous closing bracket
      }
    }
    depth_ = depth;
    return true;
  }

  /// Whether all numbers of the block are short enough to be in range.
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

  /// Checks a byte in a string: the u of an escape, a control character or a byte beyond ASCII.
  const char* inside() {
    const auto c = static_cast<unsigned char>(*p_);
    if (c == 'u') return escape();
    if (c < 0x20) return "control character in a string";
    const std::size_t length = utf8Length({p_, static_cast<std::size_t>(end_ - p_)});
    if (length == 0) return "invalid UTF-8";
    p_ += length;
    return nullptr;
  }

  /// Checks a byte between strings, where only printable ASCII and white space are valid. Rejecting NUL is
  /// most important, because RapidJSON interprets it as the end of the text.
  const char* outside() {
    switch (*p_) {
      case '{':
      case '[':
        return ++depth_ > maxDepth_ ? "nested too deeply" : nullptr;
      case '}':
      case ']':
        if (depth_ != 0) --depth_;  // the parser rejects a superfluous closing bracket
        return nullptr;
      case '\t':
      case '\n':
      case '\r':
      case '.':  // the parser rejects a misplaced '.' or '/'
      case '/':
        return nullptr;
      default:
        return *p_ == '-' || isDigit(*p_) ? number() : "invalid character";
    }
  }

  /// Checks the digits of an escape and the second half of a surrogate pair.
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
      // The largest float64 has 309 digits.
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
    // Go rejects numbers that overflow. RapidJSON 1.1.0 rejects longer exponents with another message or
    // misinterprets them.
    const std::ptrdiff_t length = p_ - start;
    if (length > static_cast<std::ptrdiff_t>(kMaxNumberLength) || exponent > 308 || exponent < -400 ||
        digits > 308 || digits + exponent > 309 ||
        ((scientific || length > kPlainLength) && outOfRange(start))) {
      p_ = start;
      return "number out of range";
    }
    return nullptr;
  }

  /// Whether the token that starts at `start` exceeds the largest float64, or is so small that it becomes
  /// zero.
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
