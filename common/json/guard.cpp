// One pass over the raw text, before RapidJSON sees it.

#include <array>
#include <bit>
#include <charconv>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/json/parse.h"
#include "common/json/utf8.h"

namespace dynamo::json {
namespace {

enum CharClass : unsigned char { kOther, kQuote, kOpen, kClose, kNumber, kBad };

constexpr std::array<unsigned char, 256> kClasses = [] {
  std::array<unsigned char, 256> classes{};
  // Outside strings only printable ASCII and white space are JSON. NUL matters most: RapidJSON takes it for
  // the end of the text.
  for (unsigned c = 0; c < classes.size(); ++c) {
    const bool space = c == '\t' || c == '\n' || c == '\r';
    if ((c < 0x20 && !space) || c >= 0x7F) classes[c] = kBad;
  }
  classes['"'] = kQuote;
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  classes['-'] = kNumber;
  for (unsigned char c = '0'; c <= '9'; ++c) classes[c] = kNumber;
  return classes;
}();

/// Decimals up to this length without an exponent cannot be out of range.
constexpr std::ptrdiff_t kPlainLength = 15;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

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
  explicit Guard(std::string_view text) : begin_(text.data()), p_(begin_), end_(begin_ + text.size()) {}

  std::optional<ParseError> run() {
    std::size_t depth = 0;
    while (p_ != end_) {
      switch (kClasses[static_cast<unsigned char>(*p_)]) {
        case kQuote:
          if (const char* reason = string()) return error(reason);
          break;
        case kNumber:
          if (const char* reason = number()) return error(reason);
          break;
        case kOpen:
          if (++depth > kMaxDepth) return error("nested too deeply");
          ++p_;
          break;
        case kClose:
          if (depth != 0) --depth;  // one too many is left to the parser
          ++p_;
          break;
        case kBad:
          return error("invalid character");
        default:
          ++p_;
      }
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

  /// Goes to the next quote, backslash, control character or non-ASCII byte of a string.
  void skipPlain() {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(0x20);
    while (end_ - p_ >= 16) {
      const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(p_)));
      // Signed comparison: bytes from 0x80 on are negative, so one test finds controls and non-ASCII.
      const __m128i special =
          _mm_or_si128(_mm_cmplt_epi8(block, space),
                       _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash)));
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
      if (mask != 0) {
        p_ += std::countr_zero(mask);
        return;
      }
      p_ += 16;
    }
#endif
    while (p_ != end_ && static_cast<signed char>(*p_) >= 0x20 && *p_ != '"' && *p_ != '\\') ++p_;
  }

  const char* string() {
    ++p_;
    while (true) {
      skipPlain();
      if (p_ == end_) return nullptr;  // the parser reports the missing quote
      const auto c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        ++p_;
        return nullptr;
      }
      if (c == '\\') {
        if (const char* reason = escape()) return reason;
      } else if (c < 0x20) {
        return "control character in a string";
      } else {
        const std::size_t length = utf8Length({p_, static_cast<std::size_t>(end_ - p_)});
        if (length == 0) return "invalid UTF-8";
        p_ += length;
      }
    }
  }

  const char* escape() {
    if (end_ - p_ < 2) {
      p_ = end_;
      return nullptr;
    }
    if (p_[1] != 'u') {
      p_ += 2;
      return nullptr;
    }
    const int code = hex4(p_ + 2, end_);
    if (code < 0) return "invalid \\u escape";
    if (code >= 0xDC00 && code <= 0xDFFF) return "unpaired surrogate escape";
    if (code >= 0xD800 && code <= 0xDBFF) {
      const bool paired = end_ - p_ >= 12 && p_[6] == '\\' && p_[7] == 'u';
      const int low = paired ? hex4(p_ + 8, end_) : -1;
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
    if (p_ != end_ && (*p_ == 'e' || *p_ == 'E')) {
      ++p_;
      const bool negative = p_ != end_ && *p_ == '-';
      if (p_ != end_ && (*p_ == '-' || *p_ == '+')) ++p_;
      while (p_ != end_ && isDigit(*p_)) {
        if (exponent < 100000) exponent = exponent * 10 + (*p_ - '0');
        ++p_;
      }
      if (negative) exponent = -exponent;
    }
    // Beyond these bounds Go refuses (overflow) or RapidJSON 1.1.0 does, in words of its own (or miscounts).
    const std::ptrdiff_t length = p_ - start;
    if (length > static_cast<std::ptrdiff_t>(kMaxNumberLength) || exponent > 308 || exponent < -400 ||
        digits > 308 || digits + exponent > 309 ||
        ((scientific || length > kPlainLength) && outOfRange(start))) {
      p_ = start;
      return "number out of range";
    }
    return nullptr;
  }

  /// The token from `start` to here is beyond the largest float64, or so small that it would be zero.
  bool outOfRange(const char* start) const {
    double value = 0;
    return std::from_chars(start, p_, value).ec == std::errc::result_out_of_range;
  }

  const char* begin_;
  const char* p_;
  const char* end_;
};

}  // namespace

std::optional<ParseError> guard(std::string_view text) {
  return Guard{text}.run();
}

}  // namespace dynamo::json
