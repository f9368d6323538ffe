#pragma once
// Sizes of the stack memory into which a review is parsed. Larger reviews use the heap in addition.

#include <cstddef>

namespace dynamo::webhook {

/// Enough for the tree of a usual review, or of a usual object and its conversion.
inline constexpr std::size_t kArenaBytes = std::size_t{128} * 1024;
/// The initial size of RapidJSON's stack of open values.
inline constexpr std::size_t kParseStack = std::size_t{16} * 1024;

}  // namespace dynamo::webhook
