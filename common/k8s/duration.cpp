#include "common/k8s/duration.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "common/json/ascii.h"

namespace dynamo::k8s {
namespace {

using json::isDigit;

constexpr std::uint64_t kMaxMagnitude = std::uint64_t{1} << 63U;  // -2^63 is a valid duration

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 8> kUnits{{
    {"ns", 1},
    {"us", 1'000},
    {"\u00B5s", 1'000},  // micro sign
    {"\u03BCs", 1'000},  // Greek mu
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"m", 60'000'000'000},
    {"h", 3'600'000'000'000},
}};

struct Decimal {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;  ///< numerator over `scale`
  double scale = 1;
};

/// Removes a number such as "12.5" from `text`; nullopt without a digit or if the whole part exceeds 2^63.
std::optional<Decimal> takeDecimal(std::string_view& text) {
  Decimal number;
  bool digits = false;
  for (; !text.empty() && isDigit(text.front()); text.remove_prefix(1), digits = true) {
    if (number.whole > kMaxMagnitude / 10) return std::nullopt;
    number.whole = number.whole * 10 + static_cast<std::uint64_t>(text.front() - '0');
    if (number.whole > kMaxMagnitude) return std::nullopt;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    bool exhausted = false;  // further digits are not significant
    for (; !text.empty() && isDigit(text.front()); text.remove_prefix(1), digits = true) {
      exhausted = exhausted || number.fraction > (kMaxMagnitude - 1) / 10;
      if (exhausted) continue;
      number.fraction = number.fraction * 10 + static_cast<std::uint64_t>(text.front() - '0');
      number.scale *= 10;
    }
  }
  return digits ? std::optional{number} : std::nullopt;
}

/// Removes a unit from `text` and returns its nanoseconds.
std::optional<std::uint64_t> takeUnit(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && text[length] != '.' && !isDigit(text[length])) ++length;
  const std::string_view name = text.substr(0, length);
  for (const auto& [unit, nanoseconds] : kUnits) {
    if (unit != name) continue;
    text.remove_prefix(length);
    return nanoseconds;
  }
  return std::nullopt;
}

/// The digits of `fraction`/10^places with the dot and without trailing zeros; "" if it is 0.
std::string fractionText(std::uint64_t fraction, int places) {
  if (fraction == 0) return {};
  std::string digits = fmt::format("{:0{}}", fraction, places);
  digits.erase(digits.find_last_not_of('0') + 1);
  return "." + digits;
}

}  // namespace

std::optional<Duration> parseDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    const auto number = takeDecimal(text);
    if (!number) return std::nullopt;
    const auto unit = takeUnit(text);
    if (!unit || number->whole > kMaxMagnitude / *unit) return std::nullopt;
    std::uint64_t part = number->whole * *unit;
    if (number->fraction > 0) {
      // Floating point, as in Go, so that both truncate to the same nanosecond.
      const double perDigit = static_cast<double>(*unit) / number->scale;
      part += static_cast<std::uint64_t>(static_cast<double>(number->fraction) * perDigit);
    }
    if (part > kMaxMagnitude - total) return std::nullopt;
    total += part;
  }
  constexpr std::uint64_t kMaxPositive = std::numeric_limits<std::int64_t>::max();
  if (!negative && total > kMaxPositive) return std::nullopt;
  if (!negative) return Duration{static_cast<std::int64_t>(total)};
  if (total == kMaxMagnitude) return Duration{std::numeric_limits<std::int64_t>::min()};
  return Duration{-static_cast<std::int64_t>(total)};
}

std::string formatDuration(Duration duration) {
  const std::int64_t count = duration.count();
  const std::string_view sign = count < 0 ? "-" : "";
  const std::uint64_t ns =
      count < 0 ? ~static_cast<std::uint64_t>(count) + 1 : static_cast<std::uint64_t>(count);
  if (ns == 0) return "0s";
  if (ns < 1'000) return fmt::format("{}{}ns", sign, ns);
  if (ns < 1'000'000) return fmt::format("{}{}{}\u00B5s", sign, ns / 1'000, fractionText(ns % 1'000, 3));
  if (ns < 1'000'000'000) {
    return fmt::format("{}{}{}ms", sign, ns / 1'000'000, fractionText(ns % 1'000'000, 6));
  }
  const std::uint64_t seconds = ns / 1'000'000'000;
  const std::string rest = fmt::format("{}{}s", seconds % 60, fractionText(ns % 1'000'000'000, 9));
  if (seconds < 60) return fmt::format("{}{}", sign, rest);
  if (seconds < 3600) return fmt::format("{}{}m{}", sign, seconds / 60, rest);
  return fmt::format("{}{}h{}m{}", sign, seconds / 3600, seconds / 60 % 60, rest);
}

}  // namespace dynamo::k8s
