#pragma once
// Puts units into a component and keeps their trie (units.h).

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
  /// `node` and `claim` of `component`; all must outlive the writer.
  Writer(json::Value& component, const schema::Node* node, const Claim& claim, json::Allocator& allocator);

  /// Sets members of the object at `path`, which is made when absent. A path through something else than
  /// objects writes nothing: the schema refuses such a component.
  void members(Path path, std::vector<Unit>&& units) { write(path, {}, std::move(units)); }
  /// Appends items to the list `list` of the object at `path`.
  void items(Path path, std::string_view list, std::vector<Unit>&& units) {
    write(path, list, std::move(units));
  }

  json::Value take() { return std::move(trie_); }

 private:
  struct Place {
    json::Value* value;
    json::Value* trie;
    const schema::Node* node;
    Claim claim;
  };

  void write(Path path, std::string_view list, std::vector<Unit>&& units);
  bool passes(Path path, std::string_view list) const;
  /// Leaves out what would make the record too long.
  void keepWithinLimit(Path path, std::string_view list, std::vector<Unit>& units);
  Place below(const Place& parent, std::string_view name, rapidjson::Type type);

  json::Value& component_;
  const schema::Node* node_;
  const Claim& claim_;
  json::Allocator& allocator_;
  json::Value trie_{rapidjson::kObjectType};
  std::size_t size_;  ///< of the trie's text, at most
};

}  // namespace dynamo::defaults
