// Decimal digits to doubles, in place of RapidJSON's own conversion (rapidjson.h).

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "common/json/rapidjson.h"

namespace rapidjson::internal {

/// The double nearest to `digits`, an unsigned number without its point, which stood after `decimalPosition`
/// of them, times ten to `exponent`. The other arguments are for guesses that we do not need.
double StrtodFullPrecision(double, int, const char* digits, std::size_t length, std::size_t decimalPosition,
                           int exponent) {
  const long shift = static_cast<long>(decimalPosition) - static_cast<long>(length) + exponent;
  const std::string text = std::string(digits, length) + 'e' + std::to_string(shift);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  // guard() has refused what is beyond float64.
  const bool small = static_cast<long>(decimalPosition) + exponent <= 0;
  return small ? 0 : std::numeric_limits<double>::infinity();
}

/// For parsing without kParseFullPrecisionFlag, which only tests do.
double StrtodNormalPrecision(double significand, int power) {
  return significand * std::pow(10.0, power);
}

}  // namespace rapidjson::internal
