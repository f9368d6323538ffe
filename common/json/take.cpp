#include "common/json/take.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace dynamo::json {
namespace {

constexpr std::string_view kNull = "null";

/// Moves over JSON; every step says whether it was what it has to be.
class Scanner {
 public:
  explicit Scanner(std::span<char> text) : p_(text.data()), end_(p_ + text.size()) {}

  /// Where the next value starts, or the last one has ended.
  char* at() const { return p_; }
  void space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }

  bool character(char c) {
    space();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }

  /// The inside of a string, as it is written.
  bool string(std::string_view& inside) {
    if (!character('"')) return false;
    const char* start = p_;
    while (true) {
      toQuoteOrSlash();
      if (p_ == end_) return false;
      if (*p_ == '"') break;
      // guard() has looked at the digits behind \u.
      constexpr std::string_view kEscapes = "\"\\/bfnrtu";
      if (end_ - p_ < 2 || kEscapes.find(p_[1]) == std::string_view::npos) return false;
      p_ += 2;
    }
    inside = {start, static_cast<std::size_t>(p_ - start)};
    ++p_;
    return true;
  }

  /// A whole value; guard() has bounded the depth.
  bool value() {
    space();
    if (p_ == end_) return false;
    std::string_view ignored;
    switch (*p_) {
      case '"':
        return string(ignored);
      case '{':
        return members();
      case '[':
        return items();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word(kNull);
      default:
        return number();
    }
  }

 private:
  bool members() {
    ++p_;
    if (character('}')) return true;
    do {
      std::string_view name;
      if (!string(name) || !character(':') || !value()) return false;
    } while (character(','));
    return character('}');
  }
  bool items() {
    ++p_;
    if (character(']')) return true;
    do {
      if (!value()) return false;
    } while (character(','));
    return character(']');
  }
  bool word(std::string_view wanted) {
    const std::string_view rest{p_, static_cast<std::size_t>(end_ - p_)};
    if (!rest.starts_with(wanted)) return false;
    p_ += wanted.size();
    return true;
  }
  bool digits() {
    const char* start = p_;
    while (p_ != end_ && *p_ >= '0' && *p_ <= '9') ++p_;
    return p_ != start;
  }
  bool number() {
    if (*p_ == '-') ++p_;
    if (p_ != end_ && *p_ == '0') {
      ++p_;
    } else if (!digits()) {
      return false;
    }
    if (p_ != end_ && *p_ == '.') {
      ++p_;
      if (!digits()) return false;
    }
    if (p_ == end_ || (*p_ != 'e' && *p_ != 'E')) return true;
    ++p_;
    if (p_ != end_ && (*p_ == '+' || *p_ == '-')) ++p_;
    return digits();
  }
  void toQuoteOrSlash() {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    for (; end_ - p_ >= 16; p_ += 16) {
      const __m128i block = _mm_loadu_si128(static_cast<const __m128i*>(static_cast<const void*>(p_)));
      const __m128i special = _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, slash));
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
      if (mask == 0) continue;
      p_ += std::countr_zero(mask);
      return;
    }
#endif
    while (p_ != end_ && *p_ != '"' && *p_ != '\\') ++p_;
  }

  char* p_;
  char* end_;
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
  /// Goes through the members of an object, looking for step `depth` of `wanted` paths. Whether to go on:
  /// false when the text is no object, and, where `last` says that nobody needs its end, once nothing more
  /// can be found.
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
    if (static_cast<std::size_t>(end - start) < kNull.size()) return true;  // not worth it
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
