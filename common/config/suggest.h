#pragma once
// "did you mean": the known name closest to an unknown one.

#include <optional>
#include <span>
#include <string_view>

namespace dynamo::config {

/// The candidate within a third of the name's length in edits (letter case is free, a swap of neighbours is
/// one edit); the first of equally close ones. nullopt when none is close.
std::optional<std::string_view> closestName(std::string_view name,
                                            std::span<const std::string_view> candidates);

}  // namespace dynamo::config
