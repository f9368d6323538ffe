#pragma once
// Suggestions for misspelled words.

#include <span>
#include <string_view>

namespace dynamo::field {

/// The candidate with the fewest edits from `word`, ignoring case. Edits are insertions, deletions,
/// replacements and swaps of neighbours, at most one per three characters. Returns the first one of several,
/// or an empty string if none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace dynamo::field
