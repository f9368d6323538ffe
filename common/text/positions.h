#pragma once
// Where the values of a parsed text stand, so that findings can name a line (SARIF, editors).

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

/// A skeleton of one document: names and positions only, so it stays right when the values are edited.
class Positions {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNone = std::numeric_limits<Id>::max();

  /// Starts with the root at `at`, which has id 0.
  explicit Positions(Position at = {});

  /// Adds the next member `name` (nullopt: item of a list) below `parent`, after `previous` (kNone if it is
  /// the first). Members stand at their key, items at their value.
  Id add(Id parent, Id previous, std::optional<std::string_view> name, Position at);

  /// A value that is absent, such as a missing required field, stands where its parent does.
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
