#include "common/text/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

namespace dynamo::text {
namespace {

constexpr std::array<std::string_view, 5> kNulls{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrue{"y",  "Y",  "yes",  "Yes",  "YES", "on",
                                                 "On", "ON", "true", "True", "TRUE"};
constexpr std::array<std::string_view, 11> kFalse{"n",   "N",   "no",    "No",    "NO",   "off",
                                                  "Off", "OFF", "false", "False", "FALSE"};
constexpr std::array<std::string_view, 12> kNotFinite{".inf",  ".Inf",  ".INF",  "+.inf", "+.Inf", "+.INF",
                                                      "-.inf", "-.Inf", "-.INF", ".nan",  ".NaN",  ".NAN"};

// Limits the copies made below. The API server's own limit is much lower.
constexpr std::size_t kMaxNumber = 512;

template <std::size_t N>
bool isOneOf(const std::array<std::string_view, N>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Integers with an optional sign and the prefixes 0x, 0o, 0b or 0 (octal).
std::optional<ScalarValue> parseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  std::string_view digits = text.substr(sign ? 1 : 0);
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char kind = digits[1];
    base = kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 8;
    digits.remove_prefix(base != 8 || kind == 'o' || kind == 'O' ? 2 : 1);
  }
  std::uint64_t magnitude = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size()) return std::nullopt;
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (negative) {
    if (magnitude > kMax + 1) return std::nullopt;
    return static_cast<std::int64_t>(~magnitude + 1);
  }
  if (magnitude <= kMax) return static_cast<std::int64_t>(magnitude);
  return sign ? std::nullopt : std::optional<ScalarValue>{magnitude};
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looksLikeFloat(std::string_view s) {
  const auto skipSign = [&] {
    if (s.starts_with('-') || s.starts_with('+')) s.remove_prefix(1);
  };
  const auto skipDigits = [&] {
    const std::size_t count =
        static_cast<std::size_t>(std::find_if_not(s.begin(), s.end(), isDigit) - s.begin());
    s.remove_prefix(count);
    return count;
  };
  skipSign();
  const std::size_t whole = skipDigits();
  if (s.starts_with('.')) {
    s.remove_prefix(1);
    if (skipDigits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (s.starts_with('e') || s.starts_with('E')) {
    s.remove_prefix(1);
    skipSign();
    if (skipDigits() == 0) return false;
  }
  return s.empty();
}

std::optional<ScalarValue> parseFloat(const std::string& text) {
  if (!looksLikeFloat(text)) return std::nullopt;
  const double number = std::strtod(text.c_str(), nullptr);
  if (!std::isfinite(number)) return std::nullopt;  // out of range: a string, as in Go
  // kubectl sends an integral number as "1000", which the API server parses as an integer. Above 2^53 the
  // sent digits are rounded, so the number stays a double.
  constexpr double kExact = 9007199254740992.0;
  if (number == std::trunc(number) && std::abs(number) <= kExact) return static_cast<std::int64_t>(number);
  return number;
}

std::optional<ScalarValue> parseNumber(std::string_view text) {
  if (text.empty() || text.size() > kMaxNumber) return std::nullopt;
  const char first = text.front();
  if (first == '.') return parseFloat(std::string{text});
  if (!isDigit(first) && first != '-' && first != '+') return std::nullopt;
  std::string plain{text};
  std::erase(plain, '_');
  if (auto integer = parseInteger(plain)) return integer;
  return parseFloat(plain);
}

std::variant<ScalarValue, ScalarError> resolvePlain(std::string_view text) {
  if (isOneOf(kNulls, text)) return ScalarValue{};
  if (isOneOf(kTrue, text)) return ScalarValue{true};
  if (isOneOf(kFalse, text)) return ScalarValue{false};
  if (isOneOf(kNotFinite, text)) return ScalarError{"NaN and infinities are not allowed"};
  if (auto number = parseNumber(text)) return *number;
  return ScalarValue{text};
}

}  // namespace

std::variant<ScalarValue, ScalarError> resolveScalar(std::string_view text, std::string_view tag) {
  if (tag == kPlainTag) return resolvePlain(text);
  if (!tag.starts_with(kCoreTag)) return ScalarValue{text};  // quoted, or an unknown tag
  const std::string_view type = tag.substr(kCoreTag.size());
  if (type == "str" || type == "timestamp") return ScalarValue{text};
  if (type == "binary") return ScalarError{"the tag !!binary is not supported"};
  auto resolved = resolvePlain(text);
  const auto* value = std::get_if<ScalarValue>(&resolved);
  if (value == nullptr) return resolved;
  const bool isInteger =
      std::holds_alternative<std::int64_t>(*value) || std::holds_alternative<std::uint64_t>(*value);
  const bool fits = (type == "null" && std::holds_alternative<std::monostate>(*value)) ||
                    (type == "bool" && std::holds_alternative<bool>(*value)) ||
                    (type == "int" && isInteger && text.find('.') == std::string_view::npos) ||
                    (type == "float" && (isInteger || std::holds_alternative<double>(*value)));
  const bool checked = type == "null" || type == "bool" || type == "int" || type == "float";
  if (!checked) return ScalarValue{text};
  if (!fits) return ScalarError{fmt::format("the value does not match its tag !!{}", type)};
  return resolved;
}

json::Value toJson(const ScalarValue& scalar, json::Allocator& allocator) {
  return std::visit(
      [&](auto value) -> json::Value {
        using T = decltype(value);
        if constexpr (std::is_same_v<T, std::monostate>)
          return json::Value{};
        else if constexpr (std::is_same_v<T, std::string_view>)
          return json::string(value, allocator);
        else
          return json::Value{value};
      },
      scalar);
}

}  // namespace dynamo::text
