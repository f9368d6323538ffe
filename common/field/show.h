#pragma once
// Formats values and lines for findings and logs.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::field {

/// Formats a value for error messages: strings in quotes, other values as JSON, shortened to about 64 bytes.
std::string showValue(const json::Value& value);
std::string showValue(std::string_view text);

/// `s` without control characters, truncated at a character boundary to at most `limit` bytes.
std::string oneLine(std::string_view s, std::size_t limit = std::string_view::npos);

/// `line` truncated after a word to at most `limit` bytes including "...". A single long word is truncated
/// inside.
std::string cutAtWord(std::string_view line, std::size_t limit);

}  // namespace dynamo::field
