#include <map>
#include <string>

#include "common/schema/walker.h"

namespace dynamo::schema {
namespace {

using json::Value;

/// The values of the map keys of `item` as JSON, sorted by name. Absent keys have their schema defaults.
std::string keyOf(const Node& items, const std::vector<std::string_view>& names, const Value& item) {
  json::Document scratch;
  auto& allocator = scratch.GetAllocator();
  std::map<std::string_view, const Value*> sorted;
  for (const std::string_view name : names) {
    const Value* value = json::find(item, name);
    const Property* property = items.property(name);
    if (value == nullptr && property != nullptr) value = property->node->defaultValue;
    if (value != nullptr) sorted.emplace(name, value);
  }
  Value key{rapidjson::kObjectType};
  for (const auto& [name, value] : sorted) json::set(key, name, json::copy(*value, allocator), allocator);
  return json::dump(key);
}

}  // namespace

void Walker::checkDuplicates(const Node& node, const Value& array, const field::At& at) {
  if (node.listType == ListType::Atomic || node.items == nullptr || array.Size() < 2) return;
  std::map<std::string, int> seen;
  for (rapidjson::SizeType i = 0; i < array.Size(); ++i) {
    if (node.listType == ListType::Map && !array[i].IsObject()) continue;  // already reported as a wrong type
    const std::string key = node.listType == ListType::Map ? keyOf(*node.items, node.listMapKeys, array[i])
                                                           : json::dump(array[i]);
    if (++seen[key] != 2) continue;  // the API server reports the first repetition only
    add(ErrorType::Duplicate, at[i].path(), key, {}, "schema.duplicate");
  }
}

}  // namespace dynamo::schema
