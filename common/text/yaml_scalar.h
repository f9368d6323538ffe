#pragma once
// Types of YAML scalars, as in kubectl (sigs.k8s.io/yaml: YAML 1.1 with changes).

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/json/value.h"

namespace dynamo::text {

/// Tags of the parser: "?" for a plain scalar without a tag, "!" for a quoted or block scalar, or the
/// resolved tag.
inline constexpr std::string_view kPlainTag = "?";
inline constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

/// A scalar's value; monostate is null. Doubles are finite.
using ScalarValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

struct ScalarError {
  std::string reason;
};

/// Determines the value of `text` with `tag`. For plain scalars:
/// - y/n/yes/no/on/off and true/false are booleans, in three spellings each.
/// - The prefixes 0x, 0o, 0b and 0 select the base of an integer; `_` may separate digits.
/// - Numbers with a fraction or an exponent but an integral value become integers, as on their way to the API
/// server.
/// - Dates and base-60 numbers are strings.
/// `text` must outlive the result. Errors: a value that does not match its tag; NaN and infinities, which
/// JSON lacks.
std::variant<ScalarValue, ScalarError> resolveScalar(std::string_view text, std::string_view tag);

/// The scalar as a JSON value; strings are copied into `allocator`.
json::Value toJson(const ScalarValue& scalar, json::Allocator& allocator);

}  // namespace dynamo::text
