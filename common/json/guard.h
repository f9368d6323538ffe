#pragma once
// guard() of parse.h for texts that may be nested a little deeper: who walks them must bear it.

#include <cstddef>
#include <optional>
#include <string_view>

#include "common/json/parse.h"

namespace dynamo::json {

std::optional<ParseError> guard(std::string_view text, std::size_t maxDepth);

}  // namespace dynamo::json
