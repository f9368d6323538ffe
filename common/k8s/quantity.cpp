#include "common/k8s/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "common/json/ascii.h"
#include "common/k8s/names.h"

namespace dynamo::k8s {
namespace {

using json::isDigit;

__extension__ using Int = __int128;

constexpr Int kNano = 1'000'000'000;
constexpr Int kMaxUnits = std::numeric_limits<long long>::max();
constexpr Int kMaxNano = static_cast<Int>(std::numeric_limits<long long>::max()) << 64;
constexpr Int kMaxTenth = kMaxNano / 10;
constexpr std::size_t kNanoPlaces = 9;
constexpr std::size_t kMaxWholeDigits = 30;  // longer values are out of range
constexpr int kMaxExponent = 18;             // the limit of admission
constexpr int kExponentCap = 9999;           // with larger exponents only zero is in range

enum class Family { Decimal, Exponent, Binary };

struct Suffix {
  std::string_view text;
  int power;  ///< of ten, or of 1024
  Family family;
};

constexpr std::array kSuffixes = {
    Suffix{"Ki", 1, Family::Binary},  Suffix{"Mi", 2, Family::Binary},  Suffix{"Gi", 3, Family::Binary},
    Suffix{"Ti", 4, Family::Binary},  Suffix{"Pi", 5, Family::Binary},  Suffix{"Ei", 6, Family::Binary},
    Suffix{"n", -9, Family::Decimal}, Suffix{"u", -6, Family::Decimal}, Suffix{"m", -3, Family::Decimal},
    Suffix{"", 0, Family::Decimal},   Suffix{"k", 3, Family::Decimal},  Suffix{"M", 6, Family::Decimal},
    Suffix{"G", 9, Family::Decimal},  Suffix{"T", 12, Family::Decimal}, Suffix{"P", 15, Family::Decimal},
    Suffix{"E", 18, Family::Decimal}};

/// The parts of a quantity. `whole` has no leading zeros, but is "0" for zero.
struct Parts {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  std::string_view suffix;
  int power = 0;  ///< of ten, or of 1024
  Family family = Family::Decimal;
};

/// Parses "e3" or "E-3". The API server only accepts integer exponents.
std::optional<int> parseExponent(std::string_view text) {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (!isDigit(c)) return std::nullopt;
    value = std::min(value * 10 + (c - '0'), kExponentCap);
  }
  return negative ? -value : value;
}

bool readSuffix(Parts& parts) {
  for (const Suffix& known : kSuffixes) {
    if (known.text != parts.suffix) continue;
    parts.power = known.power;
    parts.family = known.family;
    return true;
  }
  if (!parts.suffix.starts_with('e') && !parts.suffix.starts_with('E')) return false;
  const auto exponent = parseExponent(parts.suffix);
  parts.power = exponent.value_or(0);
  parts.family = Family::Exponent;
  return exponent.has_value();
}

std::string_view takeDigits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), isDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

/// Reads the sign and the digits; readSuffix() reads the suffix. Returns nullopt without a digit.
std::optional<Parts> readNumber(std::string_view text) {
  Parts parts;
  parts.negative = text.starts_with('-');
  if (parts.negative || text.starts_with('+')) text.remove_prefix(1);
  parts.whole = takeDigits(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    parts.fraction = takeDigits(text);
  }
  if (parts.whole.empty() && parts.fraction.empty()) return std::nullopt;
  parts.whole.remove_prefix(std::min(parts.whole.find_first_not_of('0'), parts.whole.size()));
  if (parts.whole.empty()) parts.whole = "0";
  parts.suffix = text;
  return parts;
}

std::optional<Parts> split(std::string_view text) {
  auto parts = readNumber(text);
  if (parts && !readSuffix(*parts)) return std::nullopt;
  return parts;
}

/// Multiplies decimal digits, most significant first, by 1024.
void multiplyBy1024(std::string& digits) {
  int carry = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const int product = (digits[i] - '0') * 1024 + carry;
    digits[i] = static_cast<char>('0' + product % 10);
    carry = product / 10;
  }
  for (; carry > 0; carry /= 10) digits.insert(digits.begin(), static_cast<char>('0' + carry % 10));
}

/// The number of nano units. Smaller digits are rounded away from zero, as in the API.
std::optional<Int> nanoOf(const Parts& parts) {
  constexpr std::size_t kShort =
      9;  // this many digits are in range with every suffix; most quantities have fewer
  const int least = -static_cast<int>(kNanoPlaces);
  if (parts.fraction.empty() && parts.whole.size() <= kShort && parts.power >= least &&
      parts.power <= kMaxExponent) {
    Int value = 0;
    for (const char digit : parts.whole) value = value * 10 + (digit - '0');
    if (parts.family == Family::Binary) {
      value = (value << (10 * parts.power)) * kNano;
    } else {
      for (int power = least; power < parts.power; ++power) value *= 10;
    }
    return parts.negative ? -value : value;
  }
  std::string digits = std::string{parts.whole} + std::string{parts.fraction};
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  auto exponent = -static_cast<long long>(parts.fraction.size());
  if (parts.family == Family::Binary) {
    for (int i = 0; i < parts.power; ++i) multiplyBy1024(digits);
  } else {
    exponent += parts.power;
  }
  const long long count = static_cast<long long>(digits.size()) + exponent +
                          static_cast<long long>(kNanoPlaces);  // the number of digits at or above one nano
  if (count > static_cast<long long>(kMaxWholeDigits) + static_cast<long long>(kNanoPlaces))
    return std::nullopt;
  Int value = 0;
  for (long long i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int digit = at < digits.size() ? digits[at] - '0' : 0;
    // Not (kMaxNano - digit) / 10, because a division of 128 bits is expensive.
    if (value > kMaxTenth || (value == kMaxTenth && digit > kMaxNano % 10)) return std::nullopt;
    value = value * 10 + digit;
  }
  const std::size_t kept = count < 0 ? 0 : std::min(static_cast<std::size_t>(count), digits.size());
  if (digits.find_first_not_of('0', kept) != std::string::npos) ++value;
  return parts.negative ? -value : value;
}

/// Whether the typed API keeps the text, because its fast parser considers it canonical.
bool keepsText(std::string_view text, const Parts& parts) {
  if (text == "0") return true;
  const int whole = static_cast<int>(std::min<std::size_t>(parts.whole.size(), kExponentCap));
  const int fraction = static_cast<int>(std::min<std::size_t>(parts.fraction.size(), kExponentCap));
  if (parts.family == Family::Binary) {
    constexpr int kDigits = 14;
    if (fraction > 0 || whole + 3 * parts.power > kDigits) return false;
    // Only the last three digits decide whether 8 divides the number.
    int rest = 0;
    for (const char c : parts.whole) rest = (rest * 10 + (c - '0')) % 8;
    return rest != 0;
  }
  constexpr int kDigits = 18;
  const int scale = parts.power - fraction;
  if (whole + fraction > kDigits || scale < -static_cast<int>(kNanoPlaces) || scale % 3 != 0) return false;
  const std::string digits = std::string{parts.whole} + std::string{parts.fraction};
  return digits.front() != '0' && !digits.ends_with("000");
}

std::string number(Int value) {
  const bool negative = value < 0;
  std::string digits;
  for (Int rest = negative ? -value : value; rest > 0; rest /= 10) {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  return (negative ? "-" : "") + digits;
}

std::string_view suffixOf(Family family, int power) {
  const auto* found = std::find_if(kSuffixes.begin(), kSuffixes.end(), [&](const Suffix& suffix) {
    return suffix.family == family && suffix.power == power;
  });
  return found == kSuffixes.end() ? std::string_view{} : found->text;
}

std::string printed(Int nano, Family family) {
  if (nano == 0) return "0";
  const Int magnitude = nano < 0 ? -nano : nano;
  if (family == Family::Binary && magnitude % kNano == 0 && magnitude >= 1024 * kNano) {
    Int units = nano / kNano;
    int power = 0;
    for (; units % 1024 == 0; units /= 1024) ++power;
    return number(units) + std::string{power == 0 ? "" : suffixOf(Family::Binary, power)};
  }
  int power = -static_cast<int>(kNanoPlaces);
  for (; nano % 1000 == 0 && power < kMaxExponent; nano /= 1000) power += 3;
  if (family == Family::Exponent) return number(nano) + (power == 0 ? "" : fmt::format("e{}", power));
  return number(nano) + std::string{suffixOf(Family::Decimal, power)};
}

bool tooLarge(Int nano) {
  return nano > kMaxUnits * kNano || nano < -kMaxUnits * kNano;
}

/// The suffix that was probably meant, such as "G" for "gb" and "Mi" for "mi"; empty if there is none.
std::string suggestSuffix(std::string_view suffix) {
  std::string word = lowerAscii(suffix);
  if (word.size() > 1 && word.ends_with('b')) word.pop_back();
  // "MB" and "mb" mean mega, although "m" is milli.
  if (word == "m") return "M";
  for (const Suffix& known : kSuffixes) {
    if (!known.text.empty() && lowerAscii(known.text) == word) return std::string{known.text};
  }
  return {};
}

}  // namespace

std::optional<Quantity> parseQuantity(std::string_view text) {
  const auto parts = split(text);
  const auto nano = parts ? nanoOf(*parts) : std::nullopt;
  return nano ? std::optional{Quantity{*nano}} : std::nullopt;
}

std::string quantityProblem(std::string_view text) {
  if (text.empty()) return "must not be empty";
  constexpr std::string_view kRule = R"(must be a quantity such as "2", "500m" or "16Gi")";
  auto parts = readNumber(text);
  if (!parts) return std::string{kRule};
  if (!readSuffix(*parts)) {
    const std::string meant = suggestSuffix(parts->suffix);
    return meant.empty() ? std::string{kRule}
                         : fmt::format(R"({}; did you mean the suffix "{}"?)", kRule, meant);
  }
  if (parts->family == Family::Exponent && (parts->power > kMaxExponent || parts->power < -kMaxExponent)) {
    return fmt::format("must have an exponent between -{0} and {0}", kMaxExponent);
  }
  const auto nano = nanoOf(*parts);
  return !nano || tooLarge(*nano) ? fmt::format("must not exceed {}", number(kMaxUnits)) : std::string{};
}

std::string unlikelyCpus(std::string_view text) {
  constexpr decltype(Quantity::nano) kUnit = 1'000'000'000;
  constexpr int kMany = 2000;
  const auto quantity = parseQuantity(text);
  if (!quantity || quantity->nano / kUnit < kMany) return {};
  const std::size_t end = std::min(text.find_first_not_of("0123456789.+"), text.size());
  const std::string_view suffix = text.substr(end);
  // "500M" and "2000" mean thousandths; "4Gi" is an amount of memory.
  const std::string_view meant = suffix.empty() || suffix == "M" ? "m" : "";
  return fmt::format("{} is more CPUs than a node has: did you mean {}{}?", text, text.substr(0, end), meant);
}

std::string canonicalQuantity(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::string{text};
  const auto nano = nanoOf(*parts);
  if (!nano || tooLarge(*nano) || keepsText(text, *parts)) return std::string{text};
  return printed(*nano, parts->family);
}

std::optional<std::string> quantityText(const json::Value& value) {
  if (value.IsString()) return std::string{json::text(value)};
  return value.IsNumber() ? std::optional{json::dump(value)} : std::nullopt;
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
