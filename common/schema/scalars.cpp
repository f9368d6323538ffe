#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/json/ascii.h"
#include "common/schema/walker.h"

namespace dynamo::schema {
namespace {

using json::Value;

/// The number of characters; `text` is valid UTF-8.
std::int64_t length(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

bool digitsAt(std::string_view text, std::size_t at, std::size_t count) {
  const std::string_view part = text.substr(std::min(at, text.size()), count);
  return part.size() == count && std::all_of(part.begin(), part.end(), json::isDigit);
}

/// Whether `s` has the form of RFC 3339, 2006-01-02T15:04:05[.fraction](Z|+hh:mm). Ranges are not checked.
bool isDateTime(std::string_view s) {
  const bool date = digitsAt(s, 0, 4) && s.substr(4, 1) == "-" && digitsAt(s, 5, 2) &&
                    s.substr(7, 1) == "-" && digitsAt(s, 8, 2) &&
                    (s.substr(10, 1) == "T" || s.substr(10, 1) == "t");
  const bool time = date && digitsAt(s, 11, 2) && s.substr(13, 1) == ":" && digitsAt(s, 14, 2) &&
                    s.substr(16, 1) == ":" && digitsAt(s, 17, 2);
  if (!time) return false;
  s.remove_prefix(19);
  if (s.starts_with('.')) {
    const std::size_t end = std::min(s.find_first_not_of("0123456789", 1), s.size());
    if (end == 1) return false;
    s.remove_prefix(end);
  }
  if (s == "Z" || s == "z") return true;
  return s.size() == 6 && (s[0] == '+' || s[0] == '-') && digitsAt(s, 1, 2) && s[3] == ':' &&
         digitsAt(s, 4, 2);
}

std::string supported(const std::vector<std::string_view>& values) {
  return fmt::format("supported values: \"{}\"", fmt::join(values, "\", \""));
}

}  // namespace

void Walker::checkString(const Node& node, const Value& value, const field::At& at) {
  if (onlyUnknown_) return;
  const std::string_view text = json::text(value);
  const auto invalid = [&](std::string what, std::string rule) {
    addInBody(ErrorType::Invalid, at, field::showValue(value), std::move(what), std::move(rule));
  };
  if (node.maxLength && length(text) > *node.maxLength) {
    add(ErrorType::TooLong, at, {}, fmt::format("may not be more than {} bytes", *node.maxLength),
        "schema.bounds");
  } else if (node.minLength && length(text) < *node.minLength) {
    invalid(fmt::format("should be at least {} chars long", *node.minLength), "schema.bounds");
  } else if (node.pattern != nullptr && !node.pattern->matches(text)) {
    invalid(fmt::format("should match '{}'", node.pattern->text()), "schema.pattern");
  }
  const auto& values = node.enumValues;
  if (!values.empty() && std::find(values.begin(), values.end(), text) == values.end()) {
    add(ErrorType::NotSupported, at, field::showValue(value), supported(values), "schema.enum");
  }
}

void Walker::checkDateTime(const Value& value, const field::At& at) {
  if (onlyUnknown_ || isDateTime(json::text(value))) return;
  const std::string shown = field::showValue(value);
  addInBody(ErrorType::TypeInvalid, at, shown, fmt::format("must be of type date-time: {}", shown),
            "schema.type");
}

/// API servers accept a larger number, but Go clients could not decode the object any more.
void Walker::checkInt32(const Value& value, const field::At& at) {
  const double number = value.GetDouble();
  if (onlyUnknown_ || (number >= INT32_MIN && number <= INT32_MAX)) return;
  add(ErrorType::Invalid, at, field::showValue(value), "must fit in 32 bits", "schema.type");
}

void Walker::checkNumber(const Node& node, const Value& value, const field::At& at) {
  if (onlyUnknown_) return;
  const double number = value.GetDouble();
  const auto outside = [&](std::string_view relation, std::int64_t bound) {
    addInBody(ErrorType::Invalid, at, json::dump(value),
              fmt::format("should be {} than or equal to {}", relation, bound), "schema.bounds");
  };
  if (node.scale) checkScale(node, value, at);
  if (node.minimum && number < static_cast<double>(*node.minimum)) outside("greater", *node.minimum);
  if (node.maximum && number > static_cast<double>(*node.maximum)) outside("less", *node.maximum);
}

void Walker::checkScale(const Node& node, const Value& value, const field::At& at) {
  const auto invalid = [&](std::string detail) {
    add(ErrorType::Invalid, at, json::dump(value), std::move(detail), "schema.bounds");
  };
  if (!value.IsInt64()) {
    invalid("must be written as an integer");
  } else if (value.GetInt64() < 0 && !node.minimum) {
    invalid("should be a non-negative integer");
  } else if (value.GetInt64() > std::numeric_limits<std::int32_t>::max()) {
    invalid(fmt::format("should be less than or equal to {}", std::numeric_limits<std::int32_t>::max()));
  }
}

}  // namespace dynamo::schema
