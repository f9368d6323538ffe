#pragma once
// Writes units into a component and records them in a trie (units.h).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/defaults/claims.h"
#include "common/json/value.h"
#include "common/model/completion.h"
#include "common/schema/node.h"

namespace dynamo::defaults {

using model::Unit;
using Path = std::span<const std::string_view>;

class Writer {
 public:
  /// `node` and `claim` are the schema of and the claims on `component`. All must outlive the writer.
  Writer(json::Value& component, const schema::Node* node, const Claim& claim, json::Allocator& allocator);

  /// Sets members of the object at `path`, which is created if absent. Writes nothing if a value on the path
  /// is not an object: the schema rejects such a component.
  void members(Path path, std::vector<Unit>&& units) { write(path, {}, std::move(units)); }
  /// Appends items to the list `list` of the object at `path`.
  void items(Path path, std::string_view list, std::vector<Unit>&& units) {
    write(path, list, std::move(units));
  }

  json::Value take() { return std::move(trie_); }

 private:
  /// A field of the component with its trie, schema and claims.
  struct Cursor {
    json::Value* value;
    json::Value* trie;
    const schema::Node* node;
    Claim claim;
  };

  void write(Path path, std::string_view list, std::vector<Unit>&& units);
  bool isWritable(Path path, std::string_view list) const;
  /// Removes the units that do not fit into the record.
  void keepWithinLimit(Path path, std::string_view list, std::vector<Unit>& units);
  Cursor below(const Cursor& parent, std::string_view name, rapidjson::Type type);

  json::Value& component_;
  const schema::Node* node_;
  const Claim& claim_;
  json::Allocator& allocator_;
  json::Value trie_{rapidjson::kObjectType};
  std::size_t size_;  ///< upper bound of the size of the trie as text
};

}  // namespace dynamo::defaults
