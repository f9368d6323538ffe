#pragma once
// fieldsV1 of metadata.managedFields, and the comparison of values as server-side apply does it. Members of
// fieldsV1 are "f:NAME" (a member), "k:{...}" (an item by its keys), "v:VALUE" (an item by its value), "i:N"
// (an item by its index) and "." (the value itself).

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::k8s::managed {

inline constexpr std::string_view kField = "f:";
inline constexpr std::string_view kKeys = "k:";
inline constexpr std::string_view kItem = "v:";

/// The fields below member `name`; nullptr: the member is not owned.
inline const json::Value* member(const json::Value* owned, std::string_view name) {
  if (owned == nullptr || !owned->IsObject()) return nullptr;
  for (const auto& each : owned->GetObject()) {
    const std::string_view field = json::text(each.name);
    if (field.starts_with(kField) && field.substr(kField.size()) == name) return &each.value;
  }
  return nullptr;
}

/// How server-side apply identifies the items of a list.
enum class ListType : std::uint8_t { Atomic, Set, Map };

inline ListType listType(const json::Value* owned) {
  if (owned == nullptr || !owned->IsObject()) return ListType::Atomic;
  for (const auto& each : owned->GetObject()) {
    if (json::text(each.name).starts_with(kKeys)) return ListType::Map;
    if (json::text(each.name).starts_with(kItem)) return ListType::Set;
  }
  return ListType::Atomic;
}

/// An item of a list map that a manager owns fields of.
struct Item {
  json::Document keys;  ///< an object
  const json::Value* fields = nullptr;
};

/// The items of a list map. All have the same key names.
std::vector<Item> items(const json::Value& owned);

/// The items of a set.
std::vector<json::Document> values(const json::Value& owned);

/// Whether `item` has the values of `keys`. A missing key matches: the API server sets its default, as for
/// `protocol` of a port.
bool hasKeys(const json::Value& item, const json::Value& keys);

/// Whether `applied` and `live` have equal values for the names in `keys`. A name that `applied` lacks
/// matches: the API server sets its default.
bool sameKeys(const json::Value& applied, const json::Value& live, const json::Value& keys);

}  // namespace dynamo::k8s::managed

namespace dynamo::k8s {

/// Whether the typed API leaves the value out when it prints the object.
bool isOmitted(const json::Value& value);

/// The names of the field that holds a value, and of the parent of that field.
struct FieldNames {
  std::string_view name;
  std::string_view above;
};

/// Whether two values of a field are equal. Quantities are equal if their amounts are.
bool sameValue(const json::Value& applied, const json::Value& live, const FieldNames& field);

}  // namespace dynamo::k8s
