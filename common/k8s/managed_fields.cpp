#include "common/k8s/managed_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/json/parse.h"
#include "common/k8s/quantity.h"

namespace dynamo::k8s {

using json::Value;

namespace managed {

std::vector<Item> items(const Value& owned) {
  std::vector<Item> found;
  for (const auto& each : owned.GetObject()) {
    const std::string_view name = json::text(each.name);
    Item item;
    if (!name.starts_with(kKeys) || json::parse(name.substr(kKeys.size()), item.keys)) continue;
    item.fields = &each.value;
    if (item.keys.IsObject()) found.push_back(std::move(item));
  }
  return found;
}

std::vector<json::Document> values(const Value& owned) {
  std::vector<json::Document> found;
  for (const auto& each : owned.GetObject()) {
    const std::string_view name = json::text(each.name);
    json::Document value;
    if (name.starts_with(kItem) && !json::parse(name.substr(kItem.size()), value))
      found.push_back(std::move(value));
  }
  return found;
}

bool hasKeys(const Value& item, const Value& keys) {
  return std::all_of(keys.MemberBegin(), keys.MemberEnd(), [&](const auto& key) {
    const Value* value = json::find(item, json::text(key.name));
    return value == nullptr || json::equal(*value, key.value);
  });
}

bool sameKeys(const Value& applied, const Value& live, const Value& keys) {
  return std::all_of(keys.MemberBegin(), keys.MemberEnd(), [&](const auto& key) {
    const Value* value = json::find(applied, json::text(key.name));
    return value == nullptr || json::equal(value, json::find(live, json::text(key.name)));
  });
}

}  // namespace managed

namespace {

// In the kinds that the controller applies, the values of these maps and these fields are quantities.
constexpr std::array<std::string_view, 4> kQuantityMaps = {"limits", "requests", "overhead", "capacity"};
constexpr std::array<std::string_view, 4> kQuantities = {"sizeLimit", "divisor", "averageValue", "value"};

bool isOneOf(std::string_view name, const auto& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool isQuantity(const FieldNames& field) {
  return isOneOf(field.above, kQuantityMaps) || isOneOf(field.name, kQuantities);
}

}  // namespace

bool isOmitted(const Value& value) {
  if (value.IsNull() || value.IsFalse()) return true;
  if (value.IsNumber()) return value.GetDouble() == 0;
  if (value.IsString()) return value.GetStringLength() == 0;
  if (value.IsArray()) return value.Empty();
  if (!value.IsObject()) return false;
  return std::all_of(value.MemberBegin(), value.MemberEnd(),
                     [](const auto& member) { return isOmitted(member.value); });
}

bool sameValue(const Value& applied, const Value& live, const FieldNames& field) {
  if (json::equal(applied, live)) return true;
  return isQuantity(field) && sameQuantity(applied, live);
}

}  // namespace dynamo::k8s
