#include "common/text/positions.h"

#include <algorithm>

namespace dynamo::text {
Position positionOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return {static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<std::uint32_t>(column)};
}

Positions::Positions(Position at) : nodes_{Node{{}, at}} {}

Positions::Id Positions::add(Id parent, Id previous, std::optional<std::string_view> name, Position at) {
  const Id id = static_cast<Id>(nodes_.size());
  nodes_.push_back({name ? std::optional<std::string>{*name} : std::nullopt, at});
  (previous == kNone ? nodes_[parent].firstChild : nodes_[previous].nextSibling) = id;
  return id;
}

Positions::Id Positions::child(Id parent, const field::Segment& segment) const {
  std::size_t index = segment.index;
  for (Id id = nodes_[parent].firstChild; id != kNone; id = nodes_[id].nextSibling) {
    const auto& name = nodes_[id].name;
    if (segment.isIndex() ? !name && index-- == 0 : name == segment.name) return id;
  }
  return kNone;
}

Position Positions::locate(field::PathView path) const {
  Id at = 0;
  for (const field::Segment segment : path) {
    const Id next = child(at, segment);
    if (next == kNone) break;
    at = next;
  }
  return nodes_[at].at;
}

}  // namespace dynamo::text
