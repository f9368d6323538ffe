#pragma once
// JSON pointers (RFC 6901) into the objects of a conversion. Every pointer here is empty or starts with "/".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/conversion/draft.h"

namespace dynamo::conversion {

/// Takes the first token, still escaped, from `pointer`, which is not empty.
std::string_view nextToken(std::string_view& pointer);

/// The name that a token stands for.
std::string unescape(std::string_view token);

/// The token as an index of a list.
std::optional<std::uint32_t> asIndex(std::string_view token);

/// The value at `pointer`; null counts as absent.
View lookUp(View object, std::string_view pointer);

inline std::string_view parentOf(std::string_view pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

/// The order in which fields are restored: bytewise, but indexes of lists by value, so that item 2 comes
/// before item 10.
bool pointerLess(std::string_view a, std::string_view b);

}  // namespace dynamo::conversion
