#include "common/text/positions.h"

#include <algorithm>
#include <charconv>

namespace dynamo::text {
namespace {

/// Takes ".name", "name" or "[name]" off `path`.
std::string_view takeToken(std::string_view& path) {
  if (path.starts_with('[')) {
    const std::size_t close = std::min(path.find(']'), path.size());
    const std::string_view token = path.substr(1, close - 1);
    path.remove_prefix(std::min(close + 1, path.size()));
    return token;
  }
  if (path.starts_with('.')) path.remove_prefix(1);
  const std::string_view token = path.substr(0, path.find_first_of(".["));
  path.remove_prefix(token.size());
  return token;
}

}  // namespace

Position positionOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return {static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n')),
          static_cast<std::uint32_t>(column)};
}

Positions::Positions(Position at) : nodes_{Node{{}, at}} {}

Positions::Id Positions::add(Id parent, Id previous, std::string_view name, Position at) {
  const Id id = static_cast<Id>(nodes_.size());
  nodes_.push_back({std::string{name}, at});
  (previous == kNone ? nodes_[parent].firstChild : nodes_[previous].nextSibling) = id;
  return id;
}

Positions::Id Positions::child(Id parent, std::string_view token) const {
  std::size_t index = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool isIndex = parsed.ec == std::errc{} && parsed.ptr == token.data() + token.size();
  for (Id id = nodes_[parent].firstChild; id != kNone; id = nodes_[id].nextSibling) {
    const Node& node = nodes_[id];
    if (node.name.empty() ? isIndex && index-- == 0 : node.name == token) return id;
  }
  return kNone;
}

Position Positions::locate(std::string_view path) const {
  Id at = 0;
  while (!path.empty()) {
    const Id next = child(at, takeToken(path));
    if (next == kNone) break;
    at = next;
  }
  return nodes_[at].at;
}

}  // namespace dynamo::text
