#include "common/k8s/quantity.h"

#include <array>
#include <limits>
#include <utility>

namespace dynamo::k8s {
namespace {

__extension__ using Int = __int128;

constexpr Int kMax = (static_cast<Int>(std::numeric_limits<long long>::max()) << 64);

bool multiply(Int& value, Int factor) {
  if (value != 0 && factor > kMax / value) return false;
  value *= factor;
  return true;
}

struct Suffix {
  std::string_view text;
  int power;  ///< of ten, or of 1024
  bool binary;
};

constexpr std::array kSuffixes = {
    Suffix{"Ki", 1, true},  Suffix{"Mi", 2, true},  Suffix{"Gi", 3, true},  Suffix{"Ti", 4, true},
    Suffix{"Pi", 5, true},  Suffix{"Ei", 6, true},  Suffix{"n", -9, false}, Suffix{"u", -6, false},
    Suffix{"m", -3, false}, Suffix{"", 0, false},   Suffix{"k", 3, false},  Suffix{"M", 6, false},
    Suffix{"G", 9, false},  Suffix{"T", 12, false}, Suffix{"P", 15, false}, Suffix{"E", 18, false}};

constexpr int kMaxExponent = 60;  // beyond, nothing but zero fits

/// "e3", "E-3": the API server accepts whole exponents only.
std::optional<int> parseExponent(std::string_view text) {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 4) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

std::optional<std::pair<int, bool>> scaleOf(std::string_view suffix) {
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) return std::pair{known.power, known.binary};
  }
  if (suffix.starts_with('e') || suffix.starts_with('E')) {
    if (const auto exponent = parseExponent(suffix)) return std::pair{*exponent, false};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Quantity> parseQuantity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Int digits = 0;
  int fraction = 0;
  bool any = false;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (text[i] >= '0' && text[i] <= '9') {
      any = true;
      if (!multiply(digits, 10)) return std::nullopt;
      digits += text[i] - '0';
      if (point) ++fraction;
    } else {
      break;
    }
  }
  const auto scale = scaleOf(text.substr(i));
  if (!any || !scale) return std::nullopt;
  if (scale->second) {
    for (int k = 0; k < scale->first; ++k) {
      if (!multiply(digits, 1024)) return std::nullopt;
    }
  }
  int power = (scale->second ? 0 : scale->first) - fraction + 9;
  if (power > kMaxExponent && digits != 0) return std::nullopt;
  for (; power > 0 && digits != 0; --power) {
    if (!multiply(digits, 10)) return std::nullopt;
  }
  bool rest = false;
  for (; power < 0 && digits != 0; ++power) {
    rest = rest || digits % 10 != 0;
    digits /= 10;
  }
  if (rest) ++digits;  // away from zero, as the API rounds
  return Quantity{negative ? -digits : digits};
}

bool sameQuantity(const json::Value& a, const json::Value& b) {
  const auto parse = [](const json::Value& value) {
    return value.IsString() ? parseQuantity(json::text(value)) : parseQuantity(json::dump(value));
  };
  const auto left = parse(a);
  const auto right = parse(b);
  return left && right ? *left == *right : json::equal(a, b);
}

}  // namespace dynamo::k8s
