#pragma once
// What a YAML scalar means, decided as kubectl decides it (sigs.k8s.io/yaml: YAML 1.1 with changes).

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/json/value.h"

namespace dynamo::text {

/// The tags of the parser: "?" plain without a tag, "!" quoted or block, otherwise the resolved tag.
inline constexpr std::string_view kPlainTag = "?";
inline constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

/// A scalar's value; monostate is null. Doubles are finite.
using ScalarValue = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string_view>;

struct ScalarError {
  std::string reason;
};

/// Types `text` under `tag`. Plain text: y/n/yes/no/on/off and true/false in three spellings each are
/// booleans; 0x, 0o, 0b and a leading 0 make integers of that base; `_` separates digits; numbers with a
/// fraction or an exponent but an integral value become integers, as they do on their way to the API server;
/// dates and base-60 numbers stay strings. `text` must outlive the result. Errors: a tag that does not fit,
/// NaN and infinities, which JSON has not.
std::variant<ScalarValue, ScalarError> resolveScalar(std::string_view text, std::string_view tag);

/// The scalar as a JSON value; strings are copied into `allocator`.
json::Value toJson(const ScalarValue& scalar, json::Allocator& allocator);

}  // namespace dynamo::text
