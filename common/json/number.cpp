// Converts decimal digits to doubles, in place of RapidJSON's own conversion (rapidjson.h).

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "common/json/rapidjson.h"

namespace rapidjson::internal {

/// Returns the double nearest to an unsigned number. `digits` does not contain the decimal point, which
/// belongs after the first `decimalPosition` digits. The first two arguments are an approximation, which is
/// not needed here.
double StrtodFullPrecision(double, int, const char* digits, std::size_t length, std::size_t decimalPosition,
                           int exponent) {
  const long shift = static_cast<long>(decimalPosition) - static_cast<long>(length) + exponent;
  const std::string text = std::string(digits, length) + 'e' + std::to_string(shift);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  // The result is zero, because guard() has rejected numbers beyond float64.
  const bool small = static_cast<long>(decimalPosition) + exponent <= 0;
  return small ? 0 : std::numeric_limits<double>::infinity();
}

/// For parsing without kParseFullPrecisionFlag, which only tests do.
double StrtodNormalPrecision(double significand, int power) {
  return significand * std::pow(10.0, power);
}

}  // namespace rapidjson::internal
