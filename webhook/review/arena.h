#pragma once
// Memory that a review is parsed into, on the thread's stack; what does not fit comes from the heap.

#include <cstddef>

namespace dynamo::webhook {

/// Holds the tree of a usual review, or of a usual object and its conversion.
inline constexpr std::size_t kArena = std::size_t{128} * 1024;
/// What RapidJSON starts with for the values that are still open.
inline constexpr std::size_t kParseStack = std::size_t{16} * 1024;

}  // namespace dynamo::webhook
