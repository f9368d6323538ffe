#pragma once
// "Did you mean".

#include <span>
#include <string_view>

namespace dynamo::field {

/// The candidate that `word` was probably meant to be: equal but for case, else the one with the fewest
/// edits (insert, delete, replace, swap of neighbours), at most one per three characters. Empty when none is
/// near; the first one wins among equals.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace dynamo::field
