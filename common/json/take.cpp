#include "common/json/take.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "common/json/ascii.h"

namespace dynamo::json {
namespace {

constexpr std::string_view kNull = "null";

/// The characters that may follow a backslash. guard() has checked the digits after \u.
constexpr std::array<bool, 256> kEscapes = [] {
  std::array<bool, 256> escapes{};
  for (const char c : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't', 'u'}) {
    escapes[static_cast<unsigned char>(c)] = true;
  }
  return escapes;
}();

// Each of these functions skips one token or value at `p` and returns its end, or nullptr if the text does
// not match. They use plain pointers, which stay in registers, because this is the hot loop for large
// objects.

const char* afterSpace(const char* p, const char* end) {
  while (p != end && *p <= ' ' && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) ++p;
  return p;
}

const char* after(char c, const char* p, const char* end) {
  p = afterSpace(p, end);
  return p != end && *p == c ? p + 1 : nullptr;
}

const char* toQuoteOrSlash(const char* p, const char* end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i slash = _mm_set1_epi8('\\');
  for (; end - p >= 16; p += 16) {
    const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(p)));
    const __m128i special = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) return p + std::countr_zero(mask);
  }
#endif
  while (p != end && *p != '"' && *p != '\\') ++p;
  return p;
}

const char* afterString(const char* p, const char* end) {
  p = after('"', p, end);
  if (p == nullptr) return nullptr;
  while (true) {
    p = toQuoteOrSlash(p, end);
    if (p == end) return nullptr;
    if (*p == '"') return p + 1;
    if (end - p < 2 || !kEscapes[static_cast<unsigned char>(p[1])]) return nullptr;
    p += 2;
  }
}

const char* afterWord(std::string_view wanted, const char* p, const char* end) {
  const std::string_view rest{p, static_cast<std::size_t>(end - p)};
  return rest.starts_with(wanted) ? p + wanted.size() : nullptr;
}

const char* afterDigits(const char* p, const char* end) {
  const char* start = p;
  while (p != end && isDigit(*p)) ++p;
  return p == start ? nullptr : p;
}

const char* afterNumber(const char* p, const char* end) {
  if (*p == '-') ++p;
  p = p != end && *p == '0' ? p + 1 : afterDigits(p, end);
  if (p != nullptr && p != end && *p == '.') p = afterDigits(p + 1, end);
  if (p == nullptr || p == end || (*p != 'e' && *p != 'E')) return p;
  ++p;
  if (p != end && (*p == '+' || *p == '-')) ++p;
  return afterDigits(p, end);
}

/// Skips a value. guard() has limited the depth.
const char* afterValue(const char* p, const char* end);

/// Skips an object (`named`) or list; `p` is at the opening bracket.
const char* afterList(const char* p, const char* end, bool named) {
  const char closing = named ? '}' : ']';
  p = afterSpace(p + 1, end);
  if (p != end && *p == closing) return p + 1;
  while (true) {
    if (named) {
      p = afterString(p, end);
      if (p == nullptr) return nullptr;
      p = after(':', p, end);
      if (p == nullptr) return nullptr;
    }
    p = afterValue(p, end);
    if (p == nullptr) return nullptr;
    p = afterSpace(p, end);
    if (p == end) return nullptr;
    if (*p == closing) return p + 1;
    if (*p != ',') return nullptr;
    ++p;
  }
}

const char* afterValue(const char* p, const char* end) {
  p = afterSpace(p, end);
  if (p == end) return nullptr;
  switch (*p) {
    case '"':
      return afterString(p, end);
    case '{':
    case '[':
      return afterList(p, end, *p == '{');
    case 't':
      return afterWord("true", p, end);
    case 'f':
      return afterWord("false", p, end);
    case 'n':
      return afterWord(kNull, p, end);
    default:
      return afterNumber(p, end);
  }
}

/// Skips JSON step by step. Each step returns false if the text does not match.
class Scanner {
 public:
  explicit Scanner(std::span<char> text) : text_(text.data()), p_(text.data()), end_(p_ + text.size()) {}

  /// The start of the next value, or the end of the last one.
  char* at() const { return text_ + (p_ - text_); }
  void space() { p_ = afterSpace(p_, end_); }
  bool character(char c) { return moved(after(c, p_, end_)); }
  bool value() { return moved(afterValue(p_, end_)); }

  /// Sets `inside` to the text between the quotes of a string, still escaped.
  bool string(std::string_view& inside) {
    space();
    const char* start = p_ + 1;
    if (!moved(afterString(p_, end_))) return false;
    inside = {start, static_cast<std::size_t>(p_ - start - 1)};
    return true;
  }

 private:
  bool moved(const char* to) {
    if (to == nullptr) return false;
    p_ = to;
    return true;
  }

  char* text_;
  const char* p_;
  const char* end_;
};

class Taker {
 public:
  Taker(std::span<char> text, std::span<const MemberPath> paths, std::span<std::string> taken)
      : scanner_(text), paths_(paths), taken_(taken) {}

  void run() {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < paths_.size(); ++i) all |= std::uint64_t{1} << i;
    walk(all, 0, true);
  }

 private:
  /// Searches the members of an object for step `depth` of the `wanted` paths. Returns whether to continue:
  /// false if the text is not an object. If `last` is set, the end of the object is not needed, and the
  /// result is also false as soon as all wanted paths were found.
  bool walk(std::uint64_t wanted, std::size_t depth, bool last) {
    if (!scanner_.character('{')) return false;
    if (scanner_.character('}')) return true;
    do {
      std::string_view name;
      if (!scanner_.string(name) || !scanner_.character(':')) return false;
      std::uint64_t here = 0;
      for (std::size_t i = 0; i < paths_.size(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << i;
        if ((wanted & bit) != 0 && paths_[i][depth] == name) here |= bit;
      }
      wanted &= ~here;
      if (!member(here, depth, last && wanted == 0)) return false;
      if (last && wanted == 0) return false;
    } while (scanner_.character(','));
    return scanner_.character('}');
  }

  bool member(std::uint64_t here, std::size_t depth, bool last) {
    if (here == 0) return scanner_.value();
    const auto index = static_cast<std::size_t>(std::countr_zero(here));
    if (paths_[index].size() > depth + 1) return walk(here, depth + 1, last);
    scanner_.space();
    char* start = scanner_.at();
    if (!scanner_.value()) return false;
    char* end = scanner_.at();
    if (static_cast<std::size_t>(end - start) < kNull.size())
      return true;  // too short to be replaced by null
    if (!taken_.empty()) taken_[index].assign(start, end);
    std::fill(std::copy(kNull.begin(), kNull.end(), start), end, ' ');
    return true;
  }

  Scanner scanner_;
  std::span<const MemberPath> paths_;
  std::span<std::string> taken_;
};

}  // namespace

void takeMembers(std::span<char> text, std::span<const MemberPath> paths, std::span<std::string> taken) {
  for (std::string& each : taken) each.clear();
  Taker{text, paths, taken}.run();
}

}  // namespace dynamo::json
