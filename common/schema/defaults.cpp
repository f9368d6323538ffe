#include "common/schema/defaults.h"

#include "common/schema/node.h"

namespace dynamo::schema {
namespace {

using json::Allocator;
using json::Value;

/// Removes the known members that are null. Those with a default get it afterwards.
void removeNulls(const Node& node, Value& object) {
  if (node.keepsNulls) return;
  for (auto member = object.MemberBegin(); member != object.MemberEnd();) {
    const bool known = node.member(json::text(member->name)) != nullptr;
    if (known && member->value.IsNull()) {
      member = object.EraseMember(member);  // keeps the order of the other members
    } else {
      ++member;
    }
  }
}

}  // namespace

void applySchemaDefaults(const Node& node, Value& value, Allocator& allocator) {
  if (value.IsArray() && node.items != nullptr) {
    for (Value& item : value.GetArray()) applySchemaDefaults(*node.items, item, allocator);
  }
  if (!value.IsObject()) return;
  removeNulls(node, value);
  for (const Property& property : node.properties) {
    const Value* defaultValue = property.node->defaultValue;
    if (defaultValue != nullptr && json::findRaw(value, property.name) == nullptr) {
      json::set(value, property.name, json::copy(*defaultValue, allocator), allocator);
    }
  }
  for (auto& member : value.GetObject()) {
    const Node* child = node.member(json::text(member.name));
    if (child != nullptr) applySchemaDefaults(*child, member.value, allocator);
  }
}

}  // namespace dynamo::schema
