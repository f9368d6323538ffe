#pragma once
// Values and lines as people read them in findings and logs.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::field {

/// A value as error texts show it: strings quoted, at most 64 bytes, compound values as JSON, shortened.
std::string showValue(const json::Value& value);
std::string showValue(std::string_view text);

/// `s` without control characters and cut at a character boundary so that at most `limit` bytes remain.
std::string oneLine(std::string_view s, std::size_t limit = std::string_view::npos);

/// `line` cut behind a word so that at most `limit` bytes remain, "..." among them. One long word is cut
/// inside.
std::string cutAtWord(std::string_view line, std::size_t limit);

}  // namespace dynamo::field
