#pragma once
// The positions of values in a parsed text, so that findings can refer to a line.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/path.h"

namespace dynamo::text {

/// 1-based line and column (in bytes); line 0 means unknown.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  bool operator==(const Position&) const = default;
};

/// The 1-based position of byte `offset` in `text`.
Position positionOf(std::string_view text, std::size_t offset);

/// The structure of a document: names and positions without values. It stays valid when values change.
class Positions {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = std::numeric_limits<Id>::max();

  /// Creates the root with id 0 at `at`.
  explicit Positions(Position at = {});

  /// Adds the member `name` (nullopt: list item) below `parent`, after its sibling `previous` (kNone: the
  /// first child). The position of a member is its key, that of an item its value.
  Id add(Id parent, Id previous, std::optional<std::string_view> name, Position at);

  /// The position of the value at `path`. For an absent value, such as a missing field, the position of its
  /// parent.
  Position locate(field::PathView path) const;

 private:
  struct Node {
    std::optional<std::string> name;  ///< nullopt: an item
    Position at;
    Id firstChild = kNone;
    Id nextSibling = kNone;
  };
  Id child(Id parent, const field::Segment& segment) const;

  std::vector<Node> nodes_;
};

}  // namespace dynamo::text
