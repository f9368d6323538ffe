#pragma once
// Parses YAML text to a tree of nodes with tags and positions. Scalars have no types yet, and aliases are not
// expanded.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/parse.h"
#include "common/text/positions.h"

namespace dynamo::text {

using NodeId = std::uint32_t;

struct YamlNode {
  enum class Kind : std::uint8_t { Null, Scalar, Sequence, Map };
  Kind kind = Kind::Null;
  bool closed = false;  ///< all children were added; an alias to an open node would be a cycle
  Position at;
  std::string tag;
  std::string text;              ///< of a scalar
  std::vector<NodeId> children;  ///< items, or alternating keys and values of a map
};

/// One document. An alias is the id of the anchored node itself, so the tree is a directed acyclic graph.
struct YamlTree {
  std::vector<YamlNode> nodes;
  NodeId root = 0;
};

/// Parses one document after the other and passes each to `take`. Stops at the first error of the text or of
/// `take`. Documents without nodes are skipped.
std::optional<json::ParseError> readYaml(
    std::string_view text, const std::function<std::optional<json::ParseError>(YamlTree&)>& take);

/// An error at a position of the text.
json::ParseError errorAt(Position at, std::string reason);

}  // namespace dynamo::text
