#pragma once
// Fields that have another name or place in the schemas of today. The schema tells where the fields of pods
// and containers are; this table has what no schema tells.

#include <span>
#include <string_view>

namespace dynamo::admission {

/// Where a field is known from.
enum class Origin {
  Elsewhere,  ///< it is usual in other places, or another word for a field of today
  Before,     ///< releases before 0.9
  Later,      ///< releases after 1.0, including v1beta1 of graphs
};

struct RenamedField {
  /// The object that contains the field: "service", "graph", "request", … followed by names of members.
  std::string_view parent;
  std::string_view name;
  Origin origin;
  /// What to use, as a clause or a path relative to the service or to the spec; empty: nothing.
  std::string_view use;
  /// Whether `use` is the path of a field that takes the value as it is.
  bool moves = false;
};

std::span<const RenamedField> renamedFields();

/// nullptr if the table has no such field.
const RenamedField* findRenamedField(std::string_view parent, std::string_view name);

}  // namespace dynamo::admission
