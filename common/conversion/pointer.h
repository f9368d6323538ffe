#pragma once
// JSON pointers (RFC 6901) into the objects of a conversion. Every pointer here is empty or starts with "/".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/conversion/draft.h"

namespace dynamo::conversion {

/// Removes and returns the first token of `pointer`, still escaped. `pointer` must not be empty.
std::string_view nextToken(std::string_view& pointer);

/// Decodes the escapes of a token.
std::string unescape(std::string_view token);

/// The token as a list index; nullopt if it is not a number.
std::optional<std::uint32_t> asIndex(std::string_view token);

/// The value at `pointer`; null counts as absent.
View lookUp(View object, std::string_view pointer);

inline std::string_view parentOf(std::string_view pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

/// The order in which fields are restored: list indexes are compared as numbers (2 before 10), other tokens
/// bytewise.
bool pointerLess(std::string_view a, std::string_view b);

}  // namespace dynamo::conversion
